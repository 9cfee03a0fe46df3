/** What an answer says: a value, perhaps of a named unknown, an inequality, an equation, or several named values. */
import { type Reading, usual } from './cursor.js';
import { keyOf, tokensKey } from './key.js';
import { residue } from './modular.js';
import { nameOf } from './name.js';
import { type Node, some, variables } from './node.js';
import { type Parsed, parse } from './parse.js';
import { intersected, type Piece, regionKey, solved, united } from './region.js';
import { realConstant, samplePoints, samples } from './scalar.js';
import { beginWork } from './work.js';

export interface Meaning {
  /** Equal keys mean equivalent answers; null when absent, undefined or unreadable. */
  readonly key: string | null;
  readonly form: 'value' | 'relation' | 'equation' | 'record' | 'text';
  /** The unknown that the answer names. */
  readonly name: string | null;
  /** The value without its name; null for relations, equations and texts. */
  readonly value: Node | null;
  /** The equation as written, also of a named value. */
  readonly equation: (() => string | null) | null;
  /** Named values in the order of their names. */
  readonly entries: ReadonlyMap<string, Node> | null;
}

const nothing: Meaning = { key: null, form: 'text', name: null, value: null, equation: null, entries: null };

/** Reads an answer. */
export function meaningOf(answer: string, reading: Reading = usual): Meaning {
  beginWork();
  const parsed = parse(answer, reading);
  return parsed === null ? nothing : interpreted(parsed);
}

function interpreted({ node, tokens }: Parsed): Meaning {
  if (node !== null && !isProse(node)) {
    const meaning = node.t === 'list' ? severalOf(node) : one(node);
    if (meaning !== null && (meaning.key !== null || !some(node, isWritten))) return meaning;
  }
  return { ...nothing, key: tokensKey(tokens) };
}

/** Sentences with commas and conjunctions are no lists. */
function isProse(node: Node): boolean {
  return node.t === 'list' && node.items.some((item) => item.t === 'text' && item.text.split(' ').length > 3);
}

/** Parts that have no value but can be compared as written. */
function isWritten(node: Node): boolean {
  return node.t === 'text' || node.t === 'numeral';
}

function value(node: Node, name: string | null = null, equation: Meaning['equation'] = null): Meaning {
  return { ...nothing, form: 'value', key: keyOf(node), name, value: node, equation };
}

/** The meaning of one item; null when its signs have none that is known. */
function one(node: Node): Meaning | null {
  if (node.t !== 'relation') return hasRelation(node) ? nestedRelations(node) : value(node);
  const arrow = node.ops.lastIndexOf('=>');
  if (arrow >= 0) return one(chain(node.ops.slice(arrow + 1), node.sides.slice(arrow + 1)));
  const approximation = node.ops.indexOf('~');
  if (approximation >= 0) return approximate(node, approximation);
  if (node.ops.every((op) => op === '=')) return equality(node.sides);
  if (node.ops.length === 1 && node.ops[0] === 'in') return membership(node.sides[0]!, node.sides[1]!);
  return inequality(node) ?? other(node);
}

function hasRelation(node: Node): boolean {
  return (
    node.t !== 'builder' &&
    some(node, (part) => part.t === 'relation' && part !== node) &&
    !(node.t === 'union')
  );
}

/** Tuples and sets whose items are relations, such as (x = 1, y = 2). */
function nestedRelations(node: Node): Meaning | null {
  if (node.t === 'tuple' || node.t === 'set')
    return severalOf({ t: 'list', join: 'comma', items: node.items });
  return null;
}

function chain(ops: readonly string[], sides: readonly Node[]): Node {
  return ops.length === 0 ? sides[0]! : { t: 'relation', ops, sides };
}

/** What stands before ≈ is exact; what follows counts only where nothing but a name stands before it. */
function approximate(node: Node & { t: 'relation' }, at: number): Meaning | null {
  const before = node.sides.slice(0, at + 1);
  if (at > 0 || nameOf(before[0]!) === null) return one(chain(node.ops.slice(0, at), before));
  return equality([before[0]!, ...node.sides.slice(at + 1)]);
}

/** a = b = …: a named value, a calculation with its result, or an equation. */
function equality(sides: readonly Node[]): Meaning | null {
  const first = sides[0]!;
  const last = sides.at(-1)!;
  const equation = sides.length === 2 ? () => equationKey(first, last) : null;
  const [leftName, rightName] = [nameOf(first), nameOf(last)];
  if (leftName !== null && !mentions(last, first)) return value(last, leftName, equation);
  if (rightName !== null && sides.length === 2 && !mentions(first, last))
    return value(first, rightName, equation);
  if (sides.every((side) => realConstant(side) !== null)) return consistent(sides) ? value(last) : null;
  const keys = sides.map(keyOf);
  if (keys.every((key) => key !== null && key === keys[0])) return value(last);
  if (equation === null) return null;
  const key = equation();
  return key === null ? null : { ...nothing, form: 'equation', key, equation };
}

/** Whether a variable of the name appears in the value: then it is no assignment. */
function mentions(node: Node, name: Node): boolean {
  const inside = variables(node);
  return name.t === 'sym' ? inside.has(name.name) : name.t === 'apply' && inside.has(`${name.name}()`);
}

/** Whether all numbers of a calculation agree to one part in a hundred. */
function consistent(sides: readonly Node[]): boolean {
  const values = sides.map((side) => realConstant(side)!.value);
  const last = values.at(-1)!;
  return values.every(
    (each) => each === last || Math.abs(each - last) <= 0.01 * Math.max(Math.abs(each), Math.abs(last)),
  );
}

/** An equation up to a constant factor: its values at fixed points over the first that is not zero. */
function equationKey(left: Node, right: Node): string | null {
  const side: Node = { t: 'add', args: [left, { t: 'neg', arg: right }] };
  const names = [...variables(side)].sort().join(' ');
  if (names === '') return null;
  const residues = [1, 2, 3].map((point) => residue(side, point));
  if (residues.every((each) => typeof each === 'bigint')) {
    const base = residues.find((each) => each !== 0n);
    if (base === undefined || residues.every((each) => each === base)) return null;
    const scale: Node = { t: 'num', value: { num: 1n, den: base as bigint }, digits: '' };
    const scaled = residues.map((each) => residue(product(scale, each as bigint), 0));
    return `equation:${names}:${scaled.join(',')}`;
  }
  const values = ratios(side, false);
  return values === null ? null : `equation:${names}:${values}`;
}

function product(scale: Node, factor: bigint): Node {
  return { t: 'mul', args: [scale, { t: 'num', value: { num: factor, den: 1n }, digits: '' }] };
}

/** Values at the positive points over the first nonzero one (or its size), to nine digits; null when there are none. */
function ratios(side: Node, keepSign: boolean): string | null {
  const found = variables(side).size === 0 ? null : samples(side, samplePoints - 2);
  if (found === null) return null;
  const values = found.map((each) =>
    typeof each === 'string' ? Number.NaN : Math.abs(each.im) < 1e-12 ? each.re : Number.NaN,
  );
  const base = values.find((each) => Math.abs(each) > 1e-12);
  if (base === undefined || values.some(Number.isNaN)) return null;
  if (values.every((each) => Math.abs(each - base) <= 1e-12 * Math.abs(base))) return null;
  return values.map((each) => (each / (keepSign ? Math.abs(base) : base)).toPrecision(9)).join(',');
}

function membership(left: Node, set: Node): Meaning | null {
  const name = nameOf(left);
  return name === null ? other({ t: 'relation', ops: ['in'], sides: [left, set] }) : value(set, name);
}

/** A chain of inequalities in one unknown by its solutions; in several variables by its values. */
function inequality(node: Node & { t: 'relation' }): Meaning | null {
  const solution = solution1(node);
  if (solution !== null)
    return { ...nothing, form: 'relation', key: regionKey(solution.pieces), name: solution.name };
  const [left, right] = node.sides;
  const op = node.ops[0]!;
  if (node.ops.length !== 1 || !/^(?:[<>]=?|!=)$/.test(op)) return null;
  const side: Node = op.startsWith('>') ? difference(left!, right!) : difference(right!, left!);
  const values = ratios(side, op !== '!=');
  return values === null
    ? null
    : { ...nothing, form: 'relation', key: `relation:${op.replace('>', '<')}:${values}` };
}

function difference(a: Node, b: Node): Node {
  return { t: 'add', args: [a, { t: 'neg', arg: b }] };
}

/** The solutions of a relation in one unknown, with its name. */
function solution1(node: Node & { t: 'relation' }): { pieces: readonly Piece[]; name: string } | null {
  const names = new Set<string>();
  const isUnknown = (side: Node): boolean => {
    const name =
      side.t === 'const' || (side.t === 'call' && node.sides.length > 1 && nameOf(side) === null)
        ? null
        : nameOf(side);
    if (name === null) return false;
    names.add(name);
    return true;
  };
  const free = variables(node);
  const only = free.size === 1 ? [...free][0]! : '';
  const pieces = solved(node, only, isUnknown);
  if (pieces === null || names.size > 1) return null;
  return { pieces, name: [...names][0] ?? only };
}

/** Any other relation: its sides by key, as written. */
function other(node: Node & { t: 'relation' }): Meaning | null {
  const keys = node.sides.map((side) => keyOf(side));
  if (keys.includes(null)) return null;
  const symmetric = node.ops.length === 1 && /^(?:equiv|cong|sim|parallel|perp|iff)$/.test(node.ops[0]!);
  if (symmetric) keys.sort();
  return { ...nothing, form: 'relation', key: `relation:${node.ops.join(' ')}:${keys.join(' ')}` };
}

/** Several items: values, named values, conditions on one unknown, or a system of equations. */
function severalOf(node: Node & { t: 'list' }): Meaning | null {
  if (!node.items.some((item) => item.t === 'relation')) return hasRelation(node) ? null : value(node);
  const parts: Meaning[] = [];
  for (const item of node.items) {
    const part = one(item);
    if (part === null || part.key === null) return part;
    parts.push(part);
  }
  return sameName(parts, node.join) ?? record(parts) ?? conditions(parts, node) ?? system(parts);
}

/** n = 2, 3, 4 and x = 1 or x = 2: several values of one unknown. */
function sameName(parts: readonly Meaning[], join: 'comma' | 'and' | 'or'): Meaning | null {
  const name = parts[0]!.name;
  const values = parts.map((part) => part.value);
  if (name === null || values.includes(null)) return null;
  if (!parts.every((part, k) => part.name === name || (k > 0 && part.name === null))) return null;
  return value({ t: 'list', join, items: values as Node[] }, name);
}

/** x = 1, y = 2; and several of these where the names come round again. */
function record(parts: readonly Meaning[]): Meaning | null {
  if (!parts.every((part) => part.form === 'value' && part.name !== null)) return null;
  const period = new Set(parts.map((part) => part.name)).size;
  if (parts.length % period !== 0) return null;
  const keys: string[] = [];
  const tuples: Node[] = [];
  let entries: Map<string, Node> | null = null;
  for (let start = 0; start < parts.length; start += period) {
    const sorted = parts.slice(start, start + period).sort((a, b) => (a.name! < b.name! ? -1 : 1));
    entries = new Map(sorted.map((part) => [part.name!, part.value!]));
    if (entries.size !== period) return null;
    tuples.push({ t: 'tuple', open: '(', close: ')', items: [...entries.values()] });
    keys.push(sorted.map((part) => `${part.name}=${part.key}`).join(';'));
  }
  const distinct = [...new Set(keys)].sort();
  const key = `record:${distinct.join(' ')}`;
  if (distinct.length === 1) return { ...nothing, form: 'record', key, entries };
  return { ...nothing, form: 'record', key, value: { t: 'list', join: 'or', items: tuples } };
}

/** More conditions on one unknown are compared as they stand. */
const maxConditions = 40;

/** x > 1 and x < 3, x < 1 or x > 3: a comma joins what can hold together, else alternatives. */
function conditions(parts: readonly Meaning[], node: Node & { t: 'list' }): Meaning | null {
  if (node.items.length > maxConditions) return null;
  const solutions: (readonly Piece[])[] = [];
  const names = new Set<string>();
  for (const item of node.items) {
    const solution = item.t === 'relation' ? solution1(item) : null;
    if (solution === null) return null;
    solutions.push(solution.pieces);
    names.add(solution.name);
  }
  if (names.size !== 1 || parts.every((part) => part.form === 'value')) return null;
  const together = solutions.reduce(intersected);
  const pieces =
    node.join === 'or' || (node.join === 'comma' && together.length === 0)
      ? solutions.reduce(united)
      : together;
  const key = pieces.length === 0 ? '{}' : regionKey(pieces);
  return { ...nothing, form: 'relation', key, name: [...names][0]! };
}

/** Equations and conditions in any order. */
function system(parts: readonly Meaning[]): Meaning {
  const keys = parts.map((part) => part.equation?.() ?? `${part.name ?? ''}:${part.key}`).sort();
  return { ...nothing, form: 'equation', key: `system:${keys.join(' ')}` };
}
