/** Reads LaTeX commands with arguments: fractions, binomials, sums, integrals, matrices, accents. */
import { type Cursor, deeper, expect, isSign, peek, take } from './cursor.js';
import { type Token, unreadable } from './lexer.js';
import { mapParts, type Node } from './node.js';
import { named, single } from './operand.js';
import { fromDecimal, zero } from './rational.js';
import { accents } from './vocabulary.js';

/** The command at the cursor; an unknown one without an argument is a symbol. */
export function command(c: Cursor): Node {
  const { text } = peek(c)!;
  c.at++;
  if (text === 'frac') return derivative(c) ?? { t: 'div', left: argument(c), right: argument(c) };
  if (text === 'binom') return { t: 'call', name: 'binom', args: [argument(c), argument(c)] };
  if (text === 'sum' || text === 'prod') return repeated(c, text);
  if (text === 'int') return integral(c);
  if (text === 'lim') return limit(c);
  if (text === 'begin') return deeper(c, environment);
  if (accents.has(text) || text === 'angle' || text === 'triangle') return named(c, `${text} ${letters(c)}`);
  if (isSign(c, '{') || text === 'end') throw unreadable;
  return named(c, `\\${text}`);
}

/** dy/dx is one name: its d is no factor. The operator d/dx is not read. */
function derivative(c: Cursor): Node | null {
  const isD = (ahead: number) =>
    isSign(c, '{', ahead) && /^(?:d|\\?partial|d[a-zA-Z])$/.test(peek(c, ahead + 1)?.text ?? '');
  if (!isD(0)) return null;
  let close = 1;
  while (peek(c, close) !== undefined && !isSign(c, '}', close)) close++;
  if (!isD(close + 1)) return null;
  let end = close + 2;
  while (peek(c, end) !== undefined && !isSign(c, '}', end)) end++;
  const above = c.tokens.slice(c.at + 1, c.at + close);
  const below = c.tokens.slice(c.at + close + 2, c.at + end);
  if (above.length === 1 && above[0]!.text.length === 1) throw unreadable;
  if ([...above, ...below].some((token) => token.text === '{')) throw unreadable;
  c.at += end + 1;
  const written = (tokens: readonly Token[]) => tokens.map((token) => token.text).join('');
  return { t: 'sym', name: `${written(above)}/${written(below)}` };
}

/** A group, or one token; of a number only its first digit, as LaTeX reads `\frac12`. */
function argument(c: Cursor): Node {
  if (take(c, '{')) {
    const inner = deeper(c, c.grammar.list);
    expect(c, '}');
    return inner;
  }
  const token = peek(c);
  if (token?.kind === 'num') {
    const digit = token.text[0]!;
    const rest = token.text.slice(1);
    if (rest === '') c.at++;
    else c.tokens[c.at] = { ...token, text: rest, gap: false };
    return { t: 'num', value: fromDecimal(digit) ?? zero, digits: digit };
  }
  if (token?.kind === 'sign') throw unreadable;
  return deeper(c, c.grammar.power);
}

/** The letters under an accent. */
function letters(c: Cursor): string {
  const first = peek(c);
  if (!take(c, '{')) {
    if (first?.kind !== 'name' && first?.kind !== 'word' && first?.kind !== 'const') throw unreadable;
    c.at++;
    return first.text;
  }
  let text = '';
  while (!isSign(c, '}')) {
    const token = peek(c);
    if (token === undefined || token.text === '{') throw unreadable;
    text += token.text;
    c.at++;
  }
  c.at++;
  return text;
}

/** Bounds below and above an operator, in either order. */
function bounds(c: Cursor): { below: Node | null; above: Node | null } {
  let below: Node | null = null;
  let above: Node | null = null;
  for (;;) {
    if (below === null && take(c, '_')) below = bound(c);
    else if (above === null && take(c, '^')) above = bound(c);
    else return { below, above };
  }
}

function bound(c: Cursor): Node {
  if (!take(c, '{')) return single(c);
  const inner = deeper(c, c.grammar.item);
  expect(c, '}');
  return inner;
}

/** The body of a sum or limit: the rest of the term. */
function body(c: Cursor): Node {
  let left = deeper(c, (inner) => factors(inner));
  while (isSign(c, '*') || isSign(c, '/')) {
    const times = take(c, '*');
    if (!times) c.at++;
    const right = deeper(c, (inner) => factors(inner));
    left = times ? { t: 'mul', args: [left, right] } : { t: 'div', left, right };
  }
  return left;
}

function factors(c: Cursor): Node {
  const found: Node[] = [];
  const negative = take(c, '-');
  for (let token = peek(c); token !== undefined; token = peek(c)) {
    if (token.kind === 'join' || token.kind === 'relation' || token.kind === 'half') break;
    if (token.kind === 'sign' && !/^[({[|⌊⌈]$/.test(token.text)) break;
    if (token.kind === 'command' && token.text === 'end') break;
    found.push(c.grammar.power(c));
  }
  if (found.length === 0) throw unreadable;
  const node: Node = found.length === 1 ? found[0]! : { t: 'mul', args: found };
  return negative ? { t: 'neg', arg: node } : node;
}

function repeated(c: Cursor, op: 'sum' | 'prod'): Node {
  const { below, above } = bounds(c);
  if (below?.t !== 'relation' || below.ops.length !== 1 || below.ops[0] !== '=' || above === null)
    throw unreadable;
  const [index, from] = below.sides;
  const name = indexName(index!);
  return { t: 'over', op, name, from: from!, to: above, body: bindIndex(body(c), name) };
}

/** The name of a bound variable; e and i are letters here. */
function indexName(node: Node): string {
  if (node.t === 'sym') return node.name;
  if (node.t === 'const') return node.name;
  throw unreadable;
}

/** Makes the constants e and i variables where they are the index. */
function bindIndex(node: Node, name: string): Node {
  if (name !== 'i' && name !== 'e') return node;
  const replace = (each: Node): Node =>
    each.t === 'const' && each.name === name ? { t: 'sym', name } : mapParts(each, replace);
  return replace(node);
}

/** `\int_a^b f\,dx`: the body ends at the d before the variable. */
function integral(c: Cursor): Node {
  const { below, above } = bounds(c);
  if (below === null || above === null) throw unreadable;
  const end = differential(c);
  const name = c.tokens[end + 1]!.text;
  const inner: Cursor = { ...c, tokens: c.tokens.slice(c.at, end), at: 0 };
  const integrand = inner.tokens.length === 0 ? null : deeper(inner, c.grammar.sum);
  if (inner.at !== inner.tokens.length) throw unreadable;
  c.at = end + 2;
  return {
    t: 'over',
    op: 'int',
    name,
    from: below,
    to: above,
    body: integrand ?? { t: 'num', value: { num: 1n, den: 1n }, digits: '1' },
  };
}

function differential(c: Cursor): number {
  let depth = 0;
  for (let at = c.at; at < c.tokens.length; at++) {
    const { kind, text } = c.tokens[at]!;
    if (kind === 'sign' && /^[({[]$/.test(text)) depth++;
    else if (kind === 'sign' && /^[)}\]]$/.test(text)) depth--;
    else if (depth === 0 && text === 'd' && c.tokens[at + 1]?.kind === 'name') return at;
    else if (depth === 0 && kind === 'word' && /^d[a-z]$/.test(text)) {
      const [, letter] = text;
      const token = c.tokens[at]!;
      c.tokens.splice(
        at,
        1,
        { ...token, kind: 'name', text: 'd' },
        { ...token, kind: 'name', text: letter!, gap: false },
      );
      return at;
    }
  }
  throw unreadable;
}

function limit(c: Cursor): Node {
  const { below } = bounds(c);
  if (below?.t !== 'relation' || below.ops[0] !== 'to' || below.ops.length !== 1) throw unreadable;
  const [variable, point] = below.sides;
  const name = indexName(variable!);
  return { t: 'over', op: 'lim', name, from: point!, to: point!, body: body(c) };
}

/** Matrices and systems between `\begin` and `\end`. */
function environment(c: Cursor): Node {
  const kind = environmentName(c);
  if (kind === 'array' && take(c, '{')) while (!take(c, '}')) if (++c.at > c.tokens.length) throw unreadable;
  if (aligned.test(kind)) withoutColumns(c);
  const rows: Node[][] = [[]];
  while (!(peek(c)?.kind === 'command' && peek(c)!.text === 'end')) {
    if (peek(c) === undefined) throw unreadable;
    if (take(c, '\\\\')) rows.push([]);
    else if (!take(c, '&')) rows.at(-1)!.push(c.grammar.item(c));
  }
  c.at++;
  if (environmentName(c) !== kind) throw unreadable;
  const filled = rows.filter((row) => row.length > 0);
  const width = filled[0]?.length ?? 0;
  if (width === 0 || filled.some((row) => row.length !== width)) throw unreadable;
  if (/matrix$|^array$/.test(kind) && !filled.some((row) => row.some((cell) => cell.t === 'relation'))) {
    const matrix: Node = { t: 'matrix', rows: filled };
    return kind === 'vmatrix' ? { t: 'call', name: 'det', args: [matrix] } : matrix;
  }
  if (width !== 1) throw unreadable;
  return { t: 'list', join: 'comma', items: filled.map((row) => row[0]!) };
}

/** Environments whose ampersands only align. */
const aligned = /^(?:align|aligned|gather|gathered|split|eqnarray|multline)\*?$/;

function withoutColumns(c: Cursor): void {
  const kept = c.tokens.splice(c.at).filter((token) => token.kind !== 'sign' || token.text !== '&');
  c.tokens.push(...kept);
}

function environmentName(c: Cursor): string {
  expect(c, '{');
  let name = '';
  while (!take(c, '}')) {
    const token = peek(c);
    if (token === undefined) throw unreadable;
    name += token.text;
    c.at++;
  }
  return name;
}
