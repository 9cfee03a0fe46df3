/** Reads and checks one value of an option, whether it came as text (flag, environment) or typed (YAML). */

import { invalidValue, nearest, type VfError, type VfErrorOptions } from '../errors.js';
import type { NumberOption, Option, Value } from './option.js';

/** Where a value was written, for messages: how the user calls it, and the place in a file. */
export interface Source extends VfErrorOptions {
  /** `--lr`, `VF_LR`, or `lr`. */
  name: string;
  /** Numbers and flags may be text. */
  fromText: boolean;
}

type Read = { value: Value } | { problem: VfError };

/** The value of `option` in `raw`, or what is wrong with it. */
export function readValue(option: Option, raw: unknown, source: Source): Read {
  switch (option.type) {
    case 'number':
    case 'integer':
      return readNumber(option, raw, source);
    case 'choice': {
      if (typeof raw === 'string' && option.choices.includes(raw)) return { value: raw };
      const near = nearest(String(raw), option.choices);
      const hint = near === undefined ? undefined : `did you mean "${near}"?`;
      return refuse(source, `one of ${option.choices.join(', ')}`, raw, hint);
    }
    case 'flag': {
      if (typeof raw === 'boolean') return { value: raw };
      if (source.fromText && (raw === 'true' || raw === '1')) return { value: true };
      if (source.fromText && (raw === 'false' || raw === '0')) return { value: false };
      return refuse(source, 'true or false', raw);
    }
    case 'text':
      if (raw === null && option.default === null) return { value: null };
      if (typeof raw === 'string' && raw.trim() !== '') return { value: raw };
      // A folder or seed-like name that YAML reads as a number is still a name.
      if (typeof raw === 'number') return { value: String(raw) };
      return refuse(source, 'a non-empty string', raw);
    case 'pairs':
      return readPairs(raw, source);
  }
}

/** What a number option accepts, in words: "an integer of at least 1". */
export function numberRange(option: NumberOption): string {
  const noun = option.type === 'integer' ? 'an integer' : 'a number';
  const bounds: string[] = [];
  if (option.above !== undefined) bounds.push(`above ${option.above}`);
  if (option.min !== undefined) bounds.push(`of at least ${option.min}`);
  if (option.below !== undefined) bounds.push(`below ${option.below}`);
  if (option.max !== undefined) bounds.push(`of at most ${option.max}`);
  const range = bounds.length === 0 ? noun : `${noun} ${bounds.join(' and ')}`;
  return option.words === undefined ? range : `${option.words.join(', ')} or ${range}`;
}

function readNumber(option: NumberOption, raw: unknown, source: Source): Read {
  if (typeof raw === 'string' && option.words?.includes(raw)) return { value: raw };
  if (raw === null && option.default === null) return { value: null };
  const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const number =
    typeof raw === 'number'
      ? raw
      : source.fromText && typeof raw === 'string' && decimal.test(raw)
        ? Number(raw)
        : Number.NaN;
  const inside =
    Number.isFinite(number) &&
    (option.type === 'number' || Number.isSafeInteger(number)) &&
    (option.min === undefined || number >= option.min) &&
    (option.max === undefined || number <= option.max) &&
    (option.above === undefined || number > option.above) &&
    (option.below === undefined || number < option.below);
  // -0 would be written and compared as another value than 0.
  return inside ? { value: number === 0 ? 0 : number } : refuse(source, numberRange(option), raw);
}

function readPairs(raw: unknown, source: Source): Read {
  const expected = 'field=name pairs, such as answer=solution';
  const pairs: Record<string, string> = {};
  if (raw !== null && typeof raw === 'object' && !Array.isArray(raw)) {
    for (const [field, name] of Object.entries(raw)) {
      if (typeof name !== 'string' || name === '') return refuse(source, expected, JSON.stringify(raw));
      pairs[field] = name;
    }
    return { value: pairs };
  }
  const items = Array.isArray(raw) ? raw : typeof raw === 'string' ? raw.split(',') : [raw];
  for (const item of items) {
    const match = typeof item === 'string' ? /^([^=]+)=(.+)$/.exec(item) : null;
    if (match === null) return refuse(source, expected, item);
    pairs[match[1]!] = match[2]!;
  }
  return { value: pairs };
}

function refuse(source: Source, expected: string, raw: unknown, hint?: string): Read {
  const { name, fromText: _, ...place } = source;
  return { problem: invalidValue(name, expected, raw, hint === undefined ? place : { ...place, hint }) };
}
