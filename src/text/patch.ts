/**
 * The patch: what is appended to a trace at its border (`> \boxed{REF} </answer>`), and the check that no token of the
 * loaded vocabulary can straddle the cut. Patch ids are made on their own and joined to the trace's ids as sampled.
 */

import { VfError } from '../errors.js';
import { patchText, type Template, withBorder } from './template.js';
import type { Tokenizer } from './tokenizer.js';

/** A token by id and text. */
export interface NamedToken {
  id: number;
  text: string;
}

export interface BorderReport {
  border: string;
  /** Ids that can be sampled. */
  tokens: number;
  /** Tokens that hold the end of the border and the beginning of the patch: with one of these the cut is not a token boundary. */
  spanning: NamedToken[];
  /** Tokens that end the border and go on another way (`answers`); sampled there, they are counted format failures. */
  overrunning: NamedToken[];
}

/**
 * Looks through all tokens, added ones included. A token of bytes u·v spans the border when v begins with the patch's first
 * byte and u is a non-empty end of the border, or ends in the whole border; with another non-empty v it runs past it.
 */
export function checkBorder(tokenizer: Tokenizer, template: Template): BorderReport {
  const border = Buffer.from(template.border);
  const first = Buffer.from(template.opening)[0];
  const report: BorderReport = { border: template.border, tokens: 0, spanning: [], overrunning: [] };
  for (let id = 0; id < tokenizer.size; id++) {
    const bytes = tokenizer.bytesOf(id);
    if (bytes === undefined) continue;
    report.tokens++;
    const ends = bytes.length < 2 ? [] : borderEnds(bytes, border);
    if (ends.length === 0) continue;
    const token = { id, text: Buffer.from(bytes).toString() };
    if (ends.some((end) => bytes[end] === first)) report.spanning.push(token);
    else report.overrunning.push(token);
  }
  return report;
}

/** Where, inside a token, the border could end: lengths of u, below the token's own. */
function borderEnds(bytes: Uint8Array, border: Uint8Array): number[] {
  const ends: number[] = [];
  const last = border[border.length - 1];
  for (let end = 1; end < bytes.length; end++) {
    if (bytes[end - 1] !== last) continue;
    const length = Math.min(end, border.length);
    let same = 0;
    while (same < length && bytes[end - 1 - same] === border[border.length - 1 - same]) same++;
    if (same === length) ends.push(end);
  }
  return ends;
}

/** The cuts inside the template's fixed text that no token can span, nearest to the present one first. */
export function safeBorders(tokenizer: Tokenizer, template: Template): string[] {
  const fixed = template.border + template.opening;
  const present = template.border.length;
  const cuts = Array.from({ length: fixed.length - 1 }, (_, i) => i + 1)
    .filter((cut) => cut !== present)
    .sort((a, b) => Math.abs(a - present) - Math.abs(b - present) || b - a);
  return cuts
    .map((cut) => fixed.slice(0, cut))
    .filter((border) => checkBorder(tokenizer, withBorder(template, border)).spanning.length === 0);
}

/** As checkBorder, but a border that a token spans is a VfError that names the token and the nearest cut that holds. */
export function requireBorder(tokenizer: Tokenizer, template: Template): BorderReport {
  const report = checkBorder(tokenizer, template);
  const [token] = report.spanning;
  if (token === undefined) return report;
  const [nearest] = safeBorders(tokenizer, template);
  throw new VfError(
    'VF_BORDER',
    `Expected a border that no token spans but ${JSON.stringify(template.border)} is spanned by ${report.spanning.length} of ` +
      `${report.tokens} tokens, such as ${JSON.stringify(token.text)} (id ${token.id})`,
    {
      hint:
        nearest === undefined
          ? 'no cut in this template holds for this vocabulary; choose another template'
          : `cut elsewhere in the template's fixed text: --border ${JSON.stringify(nearest)}`,
    },
  );
}

/** Why a reference answer can't be patched in, or null: it is blank, or holds the border or the closing tag. */
export function refuseReference(template: Template, answer: string): string | null {
  if (answer.trim() === '') return 'the reference answer is empty';
  const fixed = template.border + template.opening;
  const tag = fixed.slice(0, fixed.indexOf('>') + 1 || template.border.length);
  for (const text of [template.border, tag, template.closing.trim()].flatMap((t) => [
    t,
    t.split(/\s/).at(-1) ?? t,
  ])) {
    if (text !== '' && answer.includes(text)) return `the reference answer holds ${JSON.stringify(text)}`;
  }
  return null;
}

/**
 * Patch ids of reference answers, each encoded on its own. Their text is checked to be the patch again (in the
 * tokenizer's Unicode normal form); a reference that the tokenizer can't carry is a VfError.
 */
export async function encodePatches(
  tokenizer: Tokenizer,
  template: Template,
  answers: readonly string[],
): Promise<Int32Array[]> {
  const encoded = await tokenizer.encodeParts(
    answers.map((answer) => [{ literal: template.opening }, { data: answer }, { literal: template.closing }]),
  );
  for (const [i, ids] of encoded.entries()) {
    const text = patchText(template, answers[i] as string);
    const back = tokenizer.decode(ids, { special: true });
    if (back !== text && back !== text.normalize('NFC') && back !== text.normalize('NFKC')) {
      throw new VfError(
        'VF_PATCH',
        `Expected the patch ${JSON.stringify(text)} to come back from its ids but received ${JSON.stringify(back)}`,
        { hint: 'this tokenizer changes the reference answer; use another model or drop the row' },
      );
    }
  }
  return encoded;
}
