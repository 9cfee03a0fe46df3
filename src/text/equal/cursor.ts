/** The place in the tokens that a reading has come to, and the steps that all its rules share. */
import { type Token, unreadable } from './lexer.js';
import type { Node } from './node.js';

/** Rules call each other in circles; they find one another here. */
export interface Grammar {
  /** Items between separators. */
  readonly list: (c: Cursor) => Node;
  /** One item: sides joined by relations. */
  readonly item: (c: Cursor) => Node;
  /** Terms joined by plus and minus. */
  readonly sum: (c: Cursor) => Node;
  /** A factor with its exponents and marks. */
  readonly power: (c: Cursor) => Node;
}

export interface Cursor {
  readonly tokens: Token[];
  readonly grammar: Grammar;
  at: number;
  depth: number;
  /** Open absolute-value bars: a bar in operator position closes one. */
  bars: number;
  /** Words written out as letters so far. */
  split: number;
  readonly reading: Reading;
}

/** How to read what can be read in two ways. */
export interface Reading {
  /** A letter after a number and a space is a unit (`12 m`), not a factor. */
  readonly letterUnits: boolean;
  /** Commas between groups of three digits belong to a number (`1,000`), and separate no items. */
  readonly grouped: boolean;
}

/** The usual reading. */
export const usual: Reading = { letterUnits: true, grouped: true };

/** Brackets may nest this deep. */
const maxDepth = 150;

export function peek(c: Cursor, ahead = 0): Token | undefined {
  return c.tokens[c.at + ahead];
}

/** Whether the token at the place (or `ahead` of it) is this sign. */
export function isSign(c: Cursor, text: string, ahead = 0): boolean {
  const token = c.tokens[c.at + ahead];
  return token !== undefined && token.kind === 'sign' && token.text === text;
}

/** Steps over the sign if it is there. */
export function take(c: Cursor, text: string): boolean {
  if (!isSign(c, text)) return false;
  c.at++;
  return true;
}

export function expect(c: Cursor, text: string): void {
  if (!take(c, text)) throw unreadable;
}

/** Reads one level deeper; too deep is unreadable. Bars opened outside are not closed inside. */
export function deeper<T>(c: Cursor, read: (c: Cursor) => T): T {
  if (++c.depth > maxDepth) throw unreadable;
  const bars = c.bars;
  c.bars = 0;
  const result = read(c);
  c.bars = bars;
  c.depth--;
  return result;
}
