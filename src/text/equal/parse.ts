/** Reads a whole answer: items between separators, each a chain of sides joined by relations. */
import { plainCharacters } from './characters.js';
import { type Cursor, type Grammar, isSign, peek, type Reading, take } from './cursor.js';
import { power, sum } from './expression.js';
import { type Token, tokenize, unreadable } from './lexer.js';
import type { Node } from './node.js';

const grammar: Grammar = { list, item, sum, power };

/** An answer's tree, or only its tokens where it is words or signs without a known meaning. */
export interface Parsed {
  readonly node: Node | null;
  readonly tokens: readonly Token[];
}

/** Answers longer than this many characters are not read. */
const maxLength = 20_000;

/** Reads an answer; null when it is empty, too long or unbalanced. */
export function parse(answer: string, reading: Reading): Parsed | null {
  if (answer.length > maxLength) return null;
  try {
    const text = unwrapped(plainCharacters(answer));
    const tokens = tokenize(text, reading.grouped);
    if (tokens.length === 0) return null;
    return { node: tree([...tokens], reading), tokens };
  } catch (error) {
    if (error === unreadable) return null;
    throw error;
  }
}

function tree(tokens: Token[], reading: Reading): Node | null {
  const c: Cursor = { tokens, grammar, at: 0, depth: 0, bars: 0, split: 0, reading };
  try {
    const node = list(c);
    return c.at === c.tokens.length ? node : null;
  } catch (error) {
    if (error === unreadable) return null;
    throw error;
  }
}

const preface =
  /^\**(?:(?:so|thus|hence|therefore),?\s+)?(?:the\s+)?(?:final\s+|correct\s+)?answer\**\s*(?:is|:|=)\s*:?(?:\*\*(?=\s))?\s*|^(?:approximately|approx\.?|about|roughly)\s+(?=[\d\\$.-])/i;
const comment = /^\((?:approx|rounded|about|to |nearest|in |since|because|where|exact|correct)/i;

/** Without mathematics delimiters, emphasis, quotes, prefaces and the full stop at the end. */
function unwrapped(answer: string): string {
  let text = answer
    .replace(/\\[()]|(?<!\\)\\[[\]]|\$/g, (mark) => (mark === '$' ? ' ' : ''))
    .replace(/(?:\\\\?\s?){1,4}$/, '')
    .replace(/\\not\s*(?:=|\\in\b)/g, (mark) => (mark.endsWith('=') ? '\\ne ' : '\\notin '))
    .replace(/\{:\}/g, ':')
    .replace(/\\\\\[[^\]]{1,8}\]/g, '\\\\')
    .trim();
  for (let round = 0; round < 3; round++) {
    text = stripped(withoutEnd(withoutComment(text.replace(preface, ''))));
  }
  return text.replace(/^<([^<>=]*,[^<>=]*)>$/, '\\langle $1\\rangle');
}

/** Without a remark in brackets at the end: `3.14 (approximately)`. */
function withoutComment(text: string): string {
  const open = text.endsWith(')') ? text.lastIndexOf('(') : -1;
  return open > 0 && comment.test(text.slice(open)) ? text.slice(0, open) : text;
}

/** Without white space at both ends and the punctuation that closes a sentence. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && '.,;: \n\t'.includes(text[end - 1]!)) end--;
  return text.slice(0, text[end - 1] === '\\' ? end + 1 : end).trim();
}

const pairs: readonly (readonly [string, string])[] = [
  ['**', '**'],
  ['__', '__'],
  ['*', '*'],
  ['`', '`'],
  ['"', '"'],
  ["'", "'"],
];

function stripped(text: string): string {
  for (const [open, close] of pairs) {
    if (text.length > open.length + close.length && text.startsWith(open) && text.endsWith(close)) {
      return text.slice(open.length, -close.length).trim();
    }
  }
  return text;
}

/** Items between commas, semicolons, wide spaces, line ends, and, or. */
function list(c: Cursor): Node {
  const items = [item(c)];
  let join: 'comma' | 'and' | 'or' = 'comma';
  for (;;) {
    let separated = false;
    for (let found = separator(c); found !== null; found = separator(c)) {
      if (found !== 'comma') join = found;
      separated = true;
    }
    if (!separated || endsList(c)) break;
    items.push(item(c));
  }
  return items.length === 1 ? items[0]! : { t: 'list', join, items };
}

function separator(c: Cursor): 'comma' | 'and' | 'or' | null {
  const token = peek(c);
  if (token === undefined) return null;
  const isMark =
    token.kind === 'sign' &&
    (token.text === ',' || token.text === ';' || token.text === 'quad' || token.text === '\\\\');
  if (!isMark && token.kind !== 'join' && token.text !== 'land' && token.text !== 'lor') return null;
  c.at++;
  if (isMark) return 'comma';
  return token.text === 'or' || token.text === 'lor' ? 'or' : 'and';
}

function endsList(c: Cursor): boolean {
  const next = peek(c);
  return next === undefined || (next.kind === 'sign' && /^(?:[)}\]⟩]|\\\})$/.test(next.text));
}

/** Sides joined by relations; a relation before the first side says nothing (`= 5`, `≈ 0.33`). */
function item(c: Cursor): Node {
  while (peek(c)?.kind === 'relation' && /^(?:=|~|=>)$/.test(peek(c)!.text)) c.at++;
  const sides = [label(c) ?? side(c)];
  const ops: string[] = [];
  if (says(sides[0]!) && peek(c) !== undefined) {
    ops.push('=');
    sides.push(side(c));
  }
  for (
    let token = peek(c);
    token?.kind === 'relation' && token.text !== 'land' && token.text !== 'lor';
    token = peek(c)
  ) {
    if (token.text === 'mid' && c.bars > 0) break;
    c.at++;
    const modulus = token.text === 'equiv' ? side(c) : null;
    ops.push(token.text);
    sides.push(modulus === null ? side(c) : modular(c, modulus));
  }
  if (ops.length > 0) return { t: 'relation', ops, sides };
  const [only] = sides as [Node];
  const isHeading = only.t === 'ratio' && only.parts.length === 2 && only.parts[0]!.t === 'text';
  return isHeading ? { t: 'relation', ops: ['='], sides: only.parts } : only;
}

/** Words that end in a verb: `the area is 12`. */
function says(node: Node): boolean {
  return node.t === 'text' && /\b(?:is|are|equals)$/i.test(node.text);
}

/** Letters whose brackets hold an argument whatever stands in it. */
const functionHeads = /^(?:[PEfghFGH]|Var|Pr|Cov)$/;

/** `f(x)`, `P(A \cup B)`, `f^{-1}(x)` before an equals sign: a name, not a product; null when there is none. */
function label(c: Cursor): Node | null {
  const head = peek(c);
  if (head?.kind !== 'name' && head?.kind !== 'word' && head?.kind !== 'const') return null;
  let at = c.at + 1;
  if (c.tokens[at]?.text === '^' && c.tokens[at + 3]?.text === '1') at += 5;
  while (c.tokens[at]?.text === "'") at++;
  if (!/^[([]$/.test(c.tokens[at]?.text ?? '') || c.tokens[at]!.gap) return null;
  let depth = 0;
  for (const start = at; at < c.tokens.length && at - start < 40; at++) {
    const { kind, text } = c.tokens[at]!;
    if (kind === 'sign' && /^[([]$/.test(text)) depth++;
    else if (kind === 'sign' && /^[)\]]$/.test(text) && --depth === 0) break;
    else if (
      kind !== 'name' &&
      kind !== 'num' &&
      kind !== 'const' &&
      text !== ',' &&
      !functionHeads.test(head.text)
    )
      return null;
  }
  const after = c.tokens[at + 1];
  if (depth !== 0 || after?.kind !== 'relation' || (after.text !== '=' && after.text !== '~')) return null;
  const name = c.tokens
    .slice(c.at, at + 1)
    .map((token) => token.text)
    .join('');
  c.at = at + 1;
  return { t: 'sym', name };
}

/** `a \pmod n` after a congruence. */
function modular(c: Cursor, residue: Node): Node {
  const token = peek(c);
  if (token?.kind !== 'command' || !/^(?:pmod|bmod|mod)$/.test(token.text)) return residue;
  c.at++;
  return { t: 'call', name: 'residue', args: [residue, power(c)] };
}

/** Expressions joined by set operations, or a ratio. */
function side(c: Cursor): Node {
  let left = ratio(c, sum(c));
  for (;;) {
    if (take(c, '∪')) left = { t: 'union', left, right: sum(c) };
    else if (take(c, '∩')) left = { t: 'intersection', left, right: sum(c) };
    else if (take(c, '∖')) left = { t: 'without', left, right: sum(c) };
    else return left;
  }
}

/** a:b, a:b:c; digits that read as a time of day are marked. */
function ratio(c: Cursor, first: Node): Node {
  const parts = [first];
  while (isSign(c, ':')) {
    c.at++;
    parts.push(sum(c));
  }
  const half = peek(c)?.kind === 'half' ? peek(c)!.text : '';
  if (half !== '') c.at++;
  if (parts.length === 1) return first;
  const [hours, minutes] = parts;
  const clock = parts.length === 2 ? timeOfDay(hours!, minutes!) : null;
  return { t: 'ratio', parts, clock, half };
}

function timeOfDay(hours: Node, minutes: Node): string | null {
  if (
    hours.t !== 'num' ||
    minutes.t !== 'num' ||
    !/^\d{1,2}$/.test(hours.digits) ||
    !/^[0-5]\d$/.test(minutes.digits)
  )
    return null;
  const hour = Number(hours.digits);
  return hour > 24 ? null : `${hour}:${minutes.digits}`;
}
