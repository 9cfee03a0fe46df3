/** Units and counted nouns after a number: where they begin and end. */
import { type Cursor, isSign, peek } from './cursor.js';
import type { Token } from './lexer.js';
import { currencies, notUnits, shortWords, unitLetters, unitWords } from './vocabulary.js';

/** Units longer than this many tokens are sentences. */
const longest = 24;

/** A word that stands for a product of its letters: `xy`, `ABC`, `abc`; not an English word. */
export function isProduct(word: string): boolean {
  if (shortWords.has(word.toLowerCase()) || word.length > 4) return false;
  if (word.length === 2) return true;
  return word === word.toUpperCase() || !/[aeiou]/i.test(word) || 'abcdefgh xyz'.includes(word);
}

/**
 * The index after the unit that begins at the cursor, or null when what follows is no unit. After what holds no
 * number only the name of a unit is one: `a circle` is a phrase.
 */
export function unitEnd(c: Cursor, counted: boolean): number | null {
  const first = peek(c);
  if (first === undefined || !startsUnit(c, first)) return null;
  if (!counted && !unitWords.has(first.text)) return null;
  let depth = 0;
  let words = 0;
  for (let at = c.at; ; at++) {
    const token = c.tokens[at];
    if (depth === 0 && endsUnit(token)) return words > 0 ? at : null;
    if (token === undefined || at - c.at > longest) return null;
    if (token.text === '{' || token.text === '(') depth++;
    else if (token.text === '}' || token.text === ')') {
      if (--depth < 0) return null;
    } else if (isUnitWord(c, at)) words++;
    else if (!isUnitPunctuation(c, at)) return null;
  }
}

function startsUnit(c: Cursor, token: Token): boolean {
  const { kind, text, gap, roman } = token;
  if (text === '{') return isSign(c, '}', 2) && peek(c, 1)?.roman === true && unitWords.has(peek(c, 1)!.text);
  if (text === '(' && isSign(c, ')', 2))
    return unitWords.has(peek(c, 1)?.text ?? '') || peek(c, 1)?.roman === true;
  if (kind === 'command') return text === 'frac' && isSign(c, '{', 1) && peek(c, 2)?.roman === true;
  if (kind === 'name' || kind === 'const')
    return roman ? text !== 'e' && text !== 'i' : gap && c.reading.letterUnits && afterNumber(c);
  if (kind !== 'word' || notUnits.has(text.toLowerCase())) return false;
  return (
    roman ||
    unitWords.has(text) ||
    currencies.has(text.toLowerCase()) ||
    (gap && (!isProduct(text) || /^[A-Z]{2,}$/.test(text)))
  );
}

function afterNumber(c: Cursor): boolean {
  const before = c.tokens[c.at - 1];
  return (
    before !== undefined &&
    (before.kind === 'num' || (before.text === '}' && c.tokens[c.at - 2]?.kind === 'num'))
  );
}

function isUnitWord(c: Cursor, at: number): boolean {
  const { kind, text, roman } = c.tokens[at]!;
  if (kind === 'word') return !notUnits.has(text.toLowerCase());
  if (kind === 'const') return roman;
  return kind === 'name' && (roman || unitLetters.has(text) || text === '\\mu' || text === '\\Omega');
}

function isUnitPunctuation(c: Cursor, at: number): boolean {
  const { kind, text } = c.tokens[at]!;
  if (kind === 'num')
    return (
      /^[\^{-]$/.test(c.tokens[at - 1]?.text ?? '') ||
      (c.tokens[at - 1]?.kind === 'word' && /^\d$/.test(text))
    );
  if (kind === 'command') return text === 'frac';
  if (kind === 'sign' && text === '-') return /^[\^{]$/.test(c.tokens[at - 1]?.text ?? '');
  return kind === 'sign' && /^[\^/*.°']$/.test(text);
}

function endsUnit(token: Token | undefined): boolean {
  if (token === undefined || token.kind === 'join' || token.kind === 'relation') return true;
  return token.kind === 'sign' && /^(?:[,;)}\]&+:±∪∩|-]|\\\}|\\\\|quad)$/.test(token.text);
}
