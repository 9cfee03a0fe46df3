/** Cuts an answer into tokens: numbers with their separators removed, words, symbols, commands and signs. */
import { greekNames } from './characters.js';
import { numberAt } from './digits.js';
import {
  faceCommands,
  faceSwitches,
  functionNames,
  ignored,
  relations,
  silent,
  spaces,
  textCommands,
} from './vocabulary.js';

type TokenKind =
  | 'num'
  | 'name'
  | 'word'
  | 'fn'
  | 'const'
  | 'join'
  | 'relation'
  | 'command'
  | 'domain'
  | 'sign'
  | 'half';

export interface Token {
  readonly kind: TokenKind;
  /** A number's digits; a name, word or command; a sign. */
  readonly text: string;
  /** White space stands before it. */
  readonly gap: boolean;
  /** Written as ordinary text (`\text`, `\mathrm`). */
  readonly roman: boolean;
}

/** The answer cannot be read. One object, thrown and caught inside this folder only. */
export const unreadable = new Error('unreadable answer');

/** More tokens than this are no answer. */
const maxTokens = 2000;

interface Scan {
  readonly text: string;
  readonly groups: boolean;
  at: number;
  gap: boolean;
  readonly tokens: Token[];
  /** Open braces and brackets, innermost last. */
  readonly open: Opened[];
}

interface Opened {
  /** `wrap` closes without a token; `list` separates its items by commas. */
  readonly kind: 'wrap' | 'group' | 'list';
  readonly roman: boolean;
  readonly bold: boolean;
}

const constants: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pi: 'pi',
    e: 'e',
    i: 'i',
    infty: 'inf',
    infinity: 'inf',
    inf: 'inf',
    imath: 'i',
    exponentialE: 'e',
  }),
);

const commandSigns: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '{': '\\{',
    '}': '\\}',
    lbrace: '\\{',
    rbrace: '\\}',
    '%': '%',
    '|': '|',
    lVert: '|',
    rVert: '|',
    Vert: '|',
    vert: '|',
    lvert: '|',
    rvert: '|',
    times: '*',
    cdot: '*',
    ast: '*',
    bullet: '*',
    div: '/',
    slash: '/',
    pm: '±',
    mp: '∓',
    cup: '∪',
    bigcup: '∪',
    cap: '∩',
    setminus: '∖',
    backslash: '∖',
    langle: '⟨',
    rangle: '⟩',
    lfloor: '⌊',
    rfloor: '⌋',
    lceil: '⌈',
    rceil: '⌉',
    lbrack: '[',
    rbrack: ']',
    lparen: '(',
    rparen: ')',
    colon: ':',
    prime: "'",
    circ: '°',
    degree: '°',
    quad: 'quad',
    qquad: 'quad',
    '\\': '\\\\',
    newline: '\\\\',
    '&': '&',
  }),
);

/**
 * The tokens of an answer already in plain characters. Throws `unreadable` on unbalanced braces. Linear in its length.
 * @param groups whether commas between groups of three digits belong to a number
 */
export function tokenize(text: string, groups: boolean): Token[] {
  const scan: Scan = { text, groups, at: 0, gap: false, tokens: [], open: [] };
  while (scan.at < text.length) {
    const c = text[scan.at]!;
    if (c === ' ' || c === '\n' || c === '\t' || c === '\r') {
      scan.gap = true;
      scan.at++;
    } else if (c === '\\') command(scan);
    else if ((c >= '0' && c <= '9') || (c === '.' && /\d/.test(text[scan.at + 1] ?? '')))
      push(scan, ...number(scan));
    else if (/\p{L}/u.test(c)) push(scan, ...letters(scan));
    else sign(scan, c);
    if (scan.tokens.length > maxTokens) throw unreadable;
  }
  if (scan.open.some((each) => each.kind !== 'list')) throw unreadable;
  return scan.tokens;
}

/** What a rule has found: kind, text and length in characters. */
type Found = readonly [TokenKind, string, number];

function push(scan: Scan, kind: TokenKind, text: string, length: number): void {
  scan.tokens.push({ kind, text, gap: scan.gap, roman: scan.open.at(-1)?.roman ?? false });
  scan.gap = false;
  scan.at += length;
}

function opened(scan: Scan, kind: Opened['kind'], roman?: boolean, bold?: boolean): void {
  const outer = scan.open.at(-1);
  scan.open.push({ kind, roman: roman ?? outer?.roman ?? false, bold: bold ?? outer?.bold ?? false });
}

const name = /\\([A-Za-z]+\*?|[^A-Za-z])/y;
const face = /\s*\{/y;
const domain = /\s*(?:\{\s*([A-Z])\s*\}|([A-Z]))/y;

function command(scan: Scan): void {
  name.lastIndex = scan.at;
  const match = name.exec(scan.text);
  if (match === null) throw unreadable;
  const word = match[1]!.replace(/\*$/, '');
  const length = match[0].length;
  if (ignored.has(word)) {
    scan.at += length;
    if (scan.text[scan.at] === '.') scan.at += /left|right/.test(word) ? 1 : 0;
  } else if (silent.has(word)) {
    scan.gap = true;
    scan.at +=
      length +
      (/^\s*\{[^{}]{0,40}\}/.exec(scan.text.slice(scan.at + length, scan.at + length + 60))?.[0].length ?? 0);
  } else if (faceSwitches.has(word)) {
    const group = scan.open.pop();
    if (group !== undefined) scan.open.push({ ...group, roman: faceSwitches.get(word)! });
    scan.at += length;
  } else if (spaces.has(word)) {
    scan.gap = true;
    scan.at += length;
  } else if (textCommands.has(word) || faceCommands.has(word)) wrapped(scan, word, length);
  else if (word === 'mathbb' || word === 'Bbb') {
    domain.lastIndex = scan.at + length;
    const letter = domain.exec(scan.text);
    if (letter === null) throw unreadable;
    push(scan, 'domain', letter[1] ?? letter[2]!, length + letter[0].length);
  } else named(scan, word, length);
}

/** `\text{…}` and its kind: the words inside become tokens, the braces do not. */
function wrapped(scan: Scan, word: string, length: number): void {
  face.lastIndex = scan.at + length;
  const brace = face.exec(scan.text);
  scan.at += length;
  if (brace === null) return;
  scan.at += brace[0].length;
  const before = scan.tokens.at(-1);
  const argument =
    before !== undefined && (before.text === '^' || before.text === '_' || before.kind === 'command');
  const roman = textCommands.has(word);
  if (argument) push(scan, 'sign', '{', 0);
  opened(
    scan,
    argument ? 'group' : 'wrap',
    roman,
    word === 'mathbf' || word === 'boldsymbol' || word === 'bm',
  );
}

function named(scan: Scan, word: string, length: number): void {
  const bare = word.startsWith('var') ? word.slice(3) : word;
  const asSign = commandSigns.get(word);
  if (asSign !== undefined) {
    if (asSign === '\\{') opened(scan, 'list');
    if (asSign === '\\}') closeList(scan);
    push(scan, 'sign', asSign, length);
  } else if (constants.has(word)) push(scan, 'const', constants.get(word)!, length);
  else if (relations.has(word)) push(scan, 'relation', relations.get(word)!, length);
  else if (/^[dt]?binom$/.test(word)) push(scan, 'command', 'binom', length);
  else if (functionNames.has(word)) push(scan, 'fn', functionNames.get(word)!, length);
  else if (greekNames.has(bare)) push(scan, 'name', `\\${bare}`, length);
  else if (word === 'emptyset' || word === 'varnothing') push(scan, 'domain', 'empty', length);
  else if (word === 'R' || word === 'N' || word === 'Z' || word === 'Q') push(scan, 'domain', word, length);
  else if (word === '$' || word === '#') scan.at += length;
  else if (word === 'ldots' || word === 'dots' || word === 'cdots' || word === 'dotsc')
    push(scan, 'name', '…', length);
  else push(scan, 'command', /^[dtc]frac$/.test(word) ? 'frac' : word, length);
}

function number({ text, at, open, groups }: Scan): Found {
  const found = numberAt(text, at, { inList: open.at(-1)?.kind === 'list', groups });
  return ['num', found.digits, found.length];
}

const crossBefore = /\s*\d/y;

const run = /[\p{L}\p{M}]+/uy;
const halfDay = /([ap])\.?\s?m\b\.?/iy;

function letters(scan: Scan): Found {
  halfDay.lastIndex = scan.at;
  const half = halfDay.exec(scan.text);
  const before = scan.tokens.at(-1);
  if (half !== null && before?.kind === 'num') return ['half', half[1]!.toLowerCase(), half[0].length];
  run.lastIndex = scan.at;
  const word = run.exec(scan.text)![0];
  const top = scan.open.at(-1);
  if (word.length === 1) return letter(scan, word, top?.bold ?? false);
  const lower = word.toLowerCase();
  const { length } = word;
  if (lower === 'and' || lower === 'or') return ['join', lower, length];
  if (functionNames.has(word)) return ['fn', functionNames.get(word)!, length];
  if (constants.has(lower)) return ['const', constants.get(lower)!, length];
  if (lower === 'percent' || lower === 'pct') return ['sign', '%', length];
  if (lower === 'degrees' || lower === 'degree' || lower === 'deg') return ['sign', '°', length];
  if (greekNames.has(word) && !(top?.roman ?? false)) return ['name', `\\${word}`, length];
  return splitWord(word);
}

/** A word, or a function name with a short argument run together with it: `sinx`. */
function splitWord(word: string): Found {
  const match = /^(sin|cos|tan|ln|log|sqrt|pi)([a-z])$/.exec(word);
  if (match === null) return ['word', word, word.length];
  if (match[1] === 'pi') return ['const', 'pi', 2];
  return ['fn', functionNames.get(match[1]!)!, match[1]!.length];
}

function letter(scan: Scan, c: string, bold: boolean): Found {
  if ((c === 'x' || c === 'X') && scan.tokens.at(-1)?.kind === 'num') {
    crossBefore.lastIndex = scan.at + 1;
    if (crossBefore.test(scan.text)) return ['sign', '*', 1];
  }
  if (bold && /[ijke]/.test(c)) return ['name', `vec ${c}`, 1];
  return [c === 'e' || c === 'i' ? 'const' : 'name', c, 1];
}

const doubled: ReadonlySet<string> = new Set(['<=', '>=', '!=', '==', '=>']);

function sign(scan: Scan, c: string): void {
  const two = scan.text.slice(scan.at, scan.at + 2);
  if (scan.text.startsWith('...', scan.at)) push(scan, 'name', '…', 3);
  else if (two === '**') push(scan, 'sign', '^', 2);
  else if (doubled.has(two) && scan.text[scan.at + 2] !== '=' && !(two === '!=' && afterNumber(scan)))
    push(scan, 'relation', relations.get(two)!, 2);
  else if ('$€£¥₹¢"'.includes(c)) scan.at++;
  else if (c === '~') {
    scan.gap = true;
    scan.at++;
  } else if (c === '=' || c === '<' || c === '>') push(scan, 'relation', c, 1);
  else if (c === '.' && endsSentence(scan)) {
    scan.gap = true;
    scan.at++;
  } else if (c === '}') closeGroup(scan);
  else {
    if (c === '{') opened(scan, 'group');
    if (c === '(' || c === '[') opened(scan, 'list');
    if (c === ')' || c === ']') closeList(scan);
    push(scan, 'sign', c, 1);
  }
}

/** A full stop after a word, before white space, a brace or the end. */
function endsSentence(scan: Scan): boolean {
  return scan.tokens.at(-1)?.kind === 'word' && /[\s}]/.test(scan.text[scan.at + 1] ?? ' ');
}

/** `5!=120` has a factorial; `x!=3` and `5 != 3` have none. */
function afterNumber(scan: Scan): boolean {
  const before = scan.tokens.at(-1);
  return !scan.gap && before !== undefined && (before.kind === 'num' || before.text === ')');
}

function closeGroup(scan: Scan): void {
  while (scan.open.at(-1)?.kind === 'list') scan.open.pop();
  const closed = scan.open.pop();
  if (closed === undefined) throw unreadable;
  if (closed.kind === 'wrap') scan.at++;
  else push(scan, 'sign', '}', 1);
}

function closeList(scan: Scan): void {
  if (scan.open.at(-1)?.kind === 'list') scan.open.pop();
}
