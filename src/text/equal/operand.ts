/** Reads names with their indices and primes, phrases, and functions with their arguments. */
import { type Cursor, deeper, expect, isSign, peek, take } from './cursor.js';
import { unreadable } from './lexer.js';
import type { Node } from './node.js';
import { fromDecimal } from './rational.js';

/** The number that digits write. */
export function literal(digits: string): Node {
  const value = fromDecimal(digits);
  if (value === null) throw unreadable;
  return { t: 'num', value, digits };
}

/** Letters that mean a function when a bracket follows at once. */
const functionLetters = /^(?:[fghFGH]|\\(?:phi|psi|Phi|Psi))(?:_.*)?'*$/;

/** Whether an index or prime follows the token at the cursor. */
export function decorated(c: Cursor): boolean {
  return isSign(c, '_', 1) || isSign(c, "'", 1) || isPrime(c, 1);
}

function isPrime(c: Cursor, ahead: number): boolean {
  return (
    isSign(c, '^', ahead) &&
    (isSign(c, "'", ahead + 1) || (isSign(c, '{', ahead + 1) && isSign(c, "'", ahead + 2)))
  );
}

/** A variable with indices and primes; an unknown function where its letter and bracket say so. */
export function symbol(c: Cursor): Node {
  const token = peek(c)!;
  c.at++;
  return named(c, token.text);
}

/** Continues a name with what follows it. */
export function named(c: Cursor, start: string): Node {
  let name = start;
  for (;;) {
    if (take(c, '_')) name += `_${index(c)}`;
    else if (take(c, "'")) name += "'";
    else if (isPrime(c, 0)) {
      c.at++;
      const group = take(c, '{');
      while (take(c, "'")) name += "'";
      if (group) expect(c, '}');
    } else break;
  }
  const isChoice = name === 'C' && peek(c, 2)?.text === ',';
  if (!(isChoice || functionLetters.test(name)) || !isSign(c, '(') || peek(c)?.gap) return { t: 'sym', name };
  c.at++;
  const args = deeper(c, c.grammar.list);
  expect(c, ')');
  if (isChoice && args.t === 'list') return { t: 'call', name: 'binom', args: args.items };
  return { t: 'apply', name, args: args.t === 'list' ? args.items : [args] };
}

/** An index as text: the braces around it make no difference. */
function index(c: Cursor): string {
  if (!take(c, '{')) {
    const token = peek(c);
    if (token === undefined || token.kind === 'sign') throw unreadable;
    c.at++;
    return token.text;
  }
  let text = '';
  for (let depth = 1; ; c.at++) {
    const token = peek(c);
    if (token === undefined) throw unreadable;
    if (token.text === '{') depth++;
    else if (token.text === '}' && --depth === 0) break;
    else text += token.text;
  }
  c.at++;
  return text;
}

/** Words in a row. */
export function textRun(c: Cursor): Node {
  const words: string[] = [];
  for (let token = peek(c); token !== undefined; token = peek(c)) {
    const joins = token.kind === 'name' && (token.roman || token.gap || words.length === 0);
    if (token.kind !== 'word' && !joins) break;
    words.push(token.text);
    c.at++;
  }
  return { t: 'text', text: words.join(' ') };
}

/** A known function: its base or power, then its argument. */
export function functionArgument(c: Cursor): Node {
  let name = peek(c)!.text;
  c.at++;
  if (name === 'sqrt') return squareRoot(c);
  let base: Node | null = null;
  let exponent: Node | null = null;
  for (;;) {
    if (base === null && take(c, '_')) base = single(c);
    else if (exponent === null && take(c, '^')) exponent = single(c);
    else break;
  }
  const inverse = exponent?.t === 'neg' && exponent.arg.t === 'num' && exponent.arg.digits === '1';
  if (inverse && /^(?:sin|cos|tan|cot|sinh|cosh|tanh)$/.test(name)) {
    name = `a${name}`;
    exponent = null;
  }
  const args = [...argument(c), ...(base === null ? [] : [base])];
  const call: Node = { t: 'call', name, args };
  return exponent === null ? call : { t: 'pow', left: call, right: exponent };
}

/** `\sqrt{x}`, `\sqrt[3]{x}`, `\sqrt3`, `sqrt(x)`. */
function squareRoot(c: Cursor): Node {
  let degree: Node = { t: 'num', value: { num: 2n, den: 1n }, digits: '2' };
  if (take(c, '[')) {
    degree = deeper(c, c.grammar.sum);
    expect(c, ']');
  }
  return { t: 'root', degree, arg: single(c) };
}

/** One operand: a signed number, a name, or a group; no product. */
export function single(c: Cursor): Node {
  if (take(c, '-')) return { t: 'neg', arg: single(c) };
  const token = peek(c);
  if (token?.kind === 'num') {
    c.at++;
    return literal(token.text);
  }
  if (token?.kind === 'name') return symbol(c);
  if (token?.kind === 'const') {
    c.at++;
    return token.text === 'inf' ? { t: 'inf' } : { t: 'const', name: token.text as 'pi' | 'e' | 'i' };
  }
  if (isSign(c, '{') || isSign(c, '(')) {
    const close = isSign(c, '{') ? '}' : ')';
    c.at++;
    const inner = deeper(c, c.grammar.list);
    expect(c, close);
    return inner;
  }
  return deeper(c, c.grammar.power);
}

function argument(c: Cursor): readonly Node[] {
  const open = peek(c);
  if (open?.kind === 'sign' && /^(?:[({[]|\\\{)$/.test(open.text)) {
    c.at++;
    const inner = deeper(c, c.grammar.list);
    const close = peek(c);
    if (close?.kind !== 'sign' || !/^(?:[)}\]]|\\\})$/.test(close.text)) throw unreadable;
    c.at++;
    return inner.t === 'list' ? inner.items : [inner];
  }
  const factors: Node[] = [];
  if (take(c, '-')) return [{ t: 'neg', arg: argument(c)[0]! }];
  do factors.push(deeper(c, c.grammar.power));
  while (continues(c));
  return [factors.length === 1 ? factors[0]! : { t: 'mul', args: factors }];
}

/** Whether a bare argument goes on: `\sin 2\pi x` does, `\sin x\cos y` and `\sin x (1+y)` do not. */
function continues(c: Cursor): boolean {
  const next = peek(c);
  if (next === undefined || next.roman) return false;
  if (next.kind === 'name' || next.kind === 'const') return true;
  return next.kind === 'command' && /^(?:frac|sqrt)$/.test(next.text);
}
