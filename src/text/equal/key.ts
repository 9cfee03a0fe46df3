/** The key of a value: a number, formula, list, set, tuple, interval, matrix, ratio, numeral or phrase. */
import type { Token } from './lexer.js';
import { computed } from './matrix.js';
import { mapParts, type Node, some } from './node.js';
import { regionKey, regionOf } from './region.js';
import { isExpression, scalarKey } from './scalar.js';

/** Keys of the nodes of the last answers. */
const known = new Map<Node, string | null>();
const maxKnown = 2000;

/** The key of a node that is no relation; null when a part of it is undefined or has no meaning. */
export function keyOf(node: Node): string | null {
  let key = known.get(node);
  if (key === undefined) {
    key = makeKey(node);
    if (known.size > maxKnown) known.clear();
    known.set(node, key);
  }
  return key;
}

function makeKey(node: Node): string | null {
  const variants = signVariants(node);
  if (variants !== null) return setKey(variants);
  switch (node.t) {
    case 'list':
    case 'set':
      return setKey(node.items);
    case 'tuple':
      return sequence(
        node.items,
        node.items.length === 2 ? node.open : '(',
        node.items.length === 2 ? node.close : ')',
      );
    case 'matrix':
      return matrixKey(node.rows);
    case 'union':
    case 'intersection':
    case 'without':
    case 'builder':
      return setOperation(node);
    case 'domain':
      return node.name === 'R' ? '(-inf,inf)' : `domain:${node.name}`;
    case 'text':
      return phraseKey(node.text.split(' '));
    case 'ratio':
      return ratioKey(node);
    case 'numeral':
      return node.base === '10' ? node.digits : `${node.digits}_${node.base}`;
    case 'relation':
      return null;
    default:
      return expressionKey(node);
  }
}

function expressionKey(node: Node): string | null {
  if (isExpression(node)) return scalarKey(node);
  const result = computed(node);
  if (result.t === 'matrix' || isExpression(result)) return keyOf(result);
  if (node.t === 'add' && node.args.some((arg) => arg.t === 'domain')) return setOperation(node);
  return null;
}

function setOperation(node: Node): string | null {
  const pieces = regionOf(node);
  if (pieces !== null) return pieces.length === 0 ? '{}' : regionKey(pieces);
  if (node.t !== 'union' && node.t !== 'intersection' && node.t !== 'without') return null;
  if (node.t === 'union' && node.left.t === 'set' && node.right.t === 'set') {
    return setKey([...node.left.items, ...node.right.items]);
  }
  const parts = [keyOf(node.left), keyOf(node.right)];
  if (node.t !== 'without') parts.sort();
  return parts.includes(null) ? null : `${node.t}:${parts.join(' ')}`;
}

/** More items than this are no answer. */
const maxItems = 200;

/** Elements in any order, each once; a set of one is its element. */
function setKey(items: readonly Node[]): string | null {
  if (items.length > maxItems) return null;
  const keys = items.map(keyOf);
  if (keys.includes(null)) return null;
  const distinct = [...new Set(keys as string[])].sort();
  return distinct.length === 1 ? distinct[0]! : `{${distinct.join(',')}}`;
}

function sequence(items: readonly Node[], open: string, close: string): string | null {
  if (items.length > maxItems) return null;
  const keys = items.map(keyOf);
  return keys.includes(null) ? null : `${open}${keys.join(',')}${close}`;
}

function matrixKey(rows: readonly (readonly Node[])[]): string | null {
  const keys = rows.map((row) => sequence(row, '', ''));
  return keys.includes(null) ? null : `matrix:${keys.join(';')}`;
}

/** A time of day is a text; two parts are a quotient; more are taken to their lowest terms. */
function ratioKey(node: Node & { t: 'ratio' }): string | null {
  if (node.clock !== null) return `text:${node.clock}${node.half === '' ? '' : ` ${node.half}m`}`;
  const [first, ...others] = node.parts;
  if (others.length === 1) return keyOf({ t: 'div', left: first!, right: others[0]! });
  const scaled = others.map((part) => keyOf({ t: 'div', left: part, right: first! }));
  return scaled.includes(null) ? null : `ratio:1:${scaled.join(':')}`;
}

/** At most this many ± are written out. */
const maxSigns = 4;

/** The values that the ± in a node stand for, or null when it has none. Each ± is free unless a ∓ ties them. */
export function signVariants(node: Node): readonly Node[] | null {
  if (node.t === 'list' || node.t === 'set' || !some(node, (part) => part.t === 'sign')) return null;
  let count = 0;
  let tied = false;
  some(node, (part) => {
    if (part.t === 'sign') count++;
    if (part.t === 'sign' && part.opposite) tied = true;
    return false;
  });
  if (count > maxSigns) return [];
  const choices = tied ? 2 : 2 ** count;
  return Array.from({ length: choices }, (_, choice) => {
    let seen = 0;
    const chosen = (part: Node): Node => {
      if (part.t !== 'sign') return mapParts(part, chosen);
      const bit = tied ? choice & 1 : (choice >> seen++) & 1;
      const arg = chosen(part.arg);
      return (bit === 1) !== part.opposite ? { t: 'neg', arg } : arg;
    };
    return chosen(node);
  });
}

const allReals = /^(?:x (?:is|can be) )?(?:all|any|every) reals?(?: numbers?| x)?$/;

/** The key of words: their case, spacing and full stops make no difference, but that of single letters does. */
function phraseKey(words: readonly string[]): string | null {
  const plain = words
    .map((word) => (word.length > 1 ? word.toLowerCase().replace(/\.$/, '') : word))
    .filter((word) => !/^[."'`]$/.test(word));
  if (allReals.test(plain.join(' '))) return '(-inf,inf)';
  return plain.some((word) => /[\p{L}\p{N}]/u.test(word)) ? `text:${plain.join(' ')}` : null;
}

const bracketDepth: ReadonlyMap<string, number> = new Map([
  ['(', 1],
  ['[', 1],
  ['\\{', 1],
  ['⟨', 1],
  [')', -1],
  [']', -1],
  ['\\}', -1],
  ['⟩', -1],
]);

/** The key of an answer that has no tree: its tokens in order. Null for signs without words whose brackets do not match. */
export function tokensKey(tokens: readonly Token[]): string | null {
  const unmatched = tokens.reduce(
    (depth, { kind, text }) => depth + (kind === 'sign' ? (bracketDepth.get(text) ?? 0) : 0),
    0,
  );
  if (unmatched !== 0 && !tokens.some((token) => token.kind === 'word')) return null;
  const words = tokens.filter(
    ({ text }, k) =>
      !(text === '-' && tokens[k - 1]?.kind === 'word' && tokens[k + 1]?.kind === 'word') &&
      !(text === '{' && tokens[k + 2]?.text === '}') &&
      !(text === '}' && tokens[k - 2]?.text === '{'),
  );
  return phraseKey(words.map((token) => token.text));
}
