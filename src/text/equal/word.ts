/** Reads words: phrases, products of letters, amounts behind a currency, numbers behind `about`. */
import { type Cursor, isSign, peek } from './cursor.js';
import { type Token, unreadable } from './lexer.js';
import type { Node } from './node.js';
import { textRun } from './operand.js';
import { isProduct } from './unit.js';
import { currencies, hedges, unitWords } from './vocabulary.js';

/** More words than this that are products of letters are no formula. */
const maxSplit = 100;

/** Letters in a row: their product where they are no English word, else a phrase. */
export function word(c: Cursor): Node {
  const token = peek(c)!;
  const lower = token.text.toLowerCase();
  if ((currencies.has(lower) || hedges.has(lower)) && amountFollows(c)) return c.grammar.power(c);
  if (token.roman || standsAlone(c) || !(isProduct(token.text) || (token.text.length < 4 && isOperand(c))))
    return textRun(c);
  if (++c.split > maxSplit) throw unreadable;
  const letters = Array.from(token.text, (text, index) => ({
    kind: text === 'e' || text === 'i' ? ('const' as const) : ('name' as const),
    text,
    gap: index === 0 && token.gap,
    roman: false,
  }));
  c.tokens.splice(c.at, 1, ...letters);
  return c.grammar.power(c);
}

/** Whether the letter at the cursor begins a phrase: `A wins`, `Point P`. */
export function isPhrase(c: Cursor): boolean {
  const [letter, next] = [peek(c)!, peek(c, 1)];
  if (next?.kind !== 'word') return false;
  if (letter.roman) return true;
  const first = c.tokens[c.at - 1];
  const begins =
    first === undefined || first.kind === 'join' || (first.kind === 'sign' && /^[,;({]$/.test(first.text));
  return begins && next.gap && !isProduct(next.text) && !unitWords.has(next.text);
}

/** Steps over a currency or a hedge before its amount: `USD 20`, `Rs. 20`, `about 7`. */
function amountFollows(c: Cursor): boolean {
  const ahead = isSign(c, '.', 1) ? 2 : 1;
  if (peek(c, ahead)?.kind !== 'num') return false;
  c.at += ahead;
  return true;
}

/** A capitalised word that is a whole item is a name: `UK`, `Ob`. */
function standsAlone(c: Cursor): boolean {
  return /^[A-Z]/.test(peek(c)!.text) && isEdge(c.tokens[c.at - 1]) && isEdge(peek(c, 1));
}

function isEdge(token: Token | undefined): boolean {
  return (
    token === undefined ||
    token.kind === 'join' ||
    (token.kind === 'sign' && /^(?:[,;]|\\[{}])$/.test(token.text))
  );
}

const operator = /^[+*/^-]$/;

/** Whether the word at the cursor hangs on an operator or a number; a hyphen between words is none. */
function isOperand(c: Cursor): boolean {
  const [before, next] = [c.tokens[c.at - 1], peek(c, 1)];
  const follows =
    next?.kind === 'sign' && !next.gap && operator.test(next.text) && peek(c, 2)?.kind !== 'word';
  if (before === undefined || peek(c)!.gap) return follows;
  if (before.kind === 'num') return true;
  if (before.kind === 'sign' && operator.test(before.text) && c.tokens[c.at - 2]?.kind !== 'word')
    return true;
  return follows || (before.text === '{' && /^[\^_]$/.test(c.tokens[c.at - 2]?.text ?? ''));
}

/** Steps over the ending of an ordinal number that ends its item (`6th`); `6th century AD` is a text. */
export function ordinal(c: Cursor): void {
  const ending = peek(c);
  if (ending?.kind !== 'word' || ending.gap || !/^(?:st|nd|rd|th)$/.test(ending.text)) return;
  if (!isEdge(peek(c, 1))) throw unreadable;
  c.at++;
}
