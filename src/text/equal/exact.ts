/** The exact rational value of an expression, where it has one and it is not too large. */
import type { Node } from './node.js';
import {
  add,
  bits,
  compare,
  divide,
  fraction,
  gcd,
  isWhole,
  multiply,
  negate,
  one,
  power,
  type Rational,
  root,
  whole,
  zero,
} from './rational.js';
import { spend } from './work.js';

/** `open`: irrational, unknown or too large. `undefined value`: a division by zero. */
export type Exact = Rational | 'open' | 'undefined';

/** Values of variables. */
type ExactScope = ReadonlyMap<string, Rational>;

const closed: ExactScope = new Map();
const maxFactorial = 3000;
const maxTerms = 1000;

/** The exact value of a node. */
export function exact(node: Node, scope: ExactScope = closed): Exact {
  if (!spend('exact', 1)) return 'open';
  switch (node.t) {
    case 'num':
      return node.value;
    case 'sym':
      return scope.get(node.name) ?? 'open';
    case 'unit':
      return one;
    case 'degrees':
      return exact(node.arg, scope);
    case 'neg':
      return lift(exact(node.arg, scope), negate);
    case 'add':
    case 'mul':
      return folded(node.args, node.t === 'add' ? add : multiply, scope);
    case 'div':
      return quotient(exact(node.left, scope), exact(node.right, scope));
    case 'pow':
      return raised(node, scope);
    case 'root':
      return rooted(node, scope);
    case 'call':
      return called(node.name, node.args, scope);
    case 'over':
      return node.op === 'sum' || node.op === 'prod' ? repeated(node, scope) : 'open';
    case 'ratio':
      return node.parts.length === 2
        ? quotient(exact(node.parts[0]!, scope), exact(node.parts[1]!, scope))
        : 'open';
    default:
      return 'open';
  }
}

function lift(value: Exact, change: (value: Rational) => Rational): Exact {
  return typeof value === 'string' ? value : change(value);
}

/** Charges the work of one operation on numbers of these sizes; false when none is left. */
function charge(a: Rational, b: Rational): boolean {
  const size = (bits(a.num) + bits(a.den) + bits(b.num) + bits(b.den)) / 256;
  return size <= 1 || spend('exact', size * (size < 40 ? 1 : 3));
}

function folded(
  args: readonly Node[],
  step: (a: Rational, b: Rational) => Rational | null,
  scope: ExactScope,
): Exact {
  let total: Rational | null = null;
  let open = false;
  for (const arg of args) {
    const value = exact(arg, scope);
    if (value === 'undefined') return 'undefined';
    if (value === 'open') open = true;
    else if (total === null) total = value;
    else if (!charge(total, value)) return 'open';
    else {
      const next = step(total, value);
      if (next === null) return 'open';
      total = next;
    }
  }
  return open ? 'open' : (total ?? zero);
}

function quotient(a: Exact, b: Exact): Exact {
  if (a === 'undefined' || b === 'undefined') return 'undefined';
  if (b !== 'open' && b.num === 0n) return 'undefined';
  if (a === 'open' || b === 'open' || !charge(a, b)) return 'open';
  return divide(a, b) ?? 'open';
}

function raised(node: Node & { t: 'pow' }, scope: ExactScope): Exact {
  const base = exact(node.left, scope);
  const exponent = exact(node.right, scope);
  if (base === 'undefined' || exponent === 'undefined') return 'undefined';
  if (base === 'open' || exponent === 'open') return rootPower(node, exponent, scope);
  if (base.num === 0n && exponent.num < 0n) return 'undefined';
  if (exponent.den > 64n) return 'open';
  const start = exponent.den === 1n ? base : root(base, Number(exponent.den));
  if (start === null) return 'open';
  const result = power(start, exponent.num);
  return result === null || !charge(result, one) ? 'open' : result;
}

/** (√a)^n with a power that takes the root away. */
function rootPower(node: Node & { t: 'pow' }, exponent: Exact, scope: ExactScope): Exact {
  if (node.left.t !== 'root' || typeof exponent === 'string' || exponent.den !== 1n) return 'open';
  const degree = exact(node.left.degree, scope);
  const arg = exact(node.left.arg, scope);
  if (typeof degree === 'string' || typeof arg === 'string' || degree.num <= 0n || arg.num < 0n)
    return 'open';
  const reduced = divide(exponent, degree);
  if (reduced === null || reduced.den !== 1n || (arg.num === 0n && reduced.num < 0n)) return 'open';
  return power(arg, reduced.num) ?? 'open';
}

function rooted(node: Node & { t: 'root' }, scope: ExactScope): Exact {
  const degree = exact(node.degree, scope);
  const arg = exact(node.arg, scope);
  if (degree === 'undefined' || arg === 'undefined') return 'undefined';
  if (degree === 'open' || arg === 'open' || degree.den !== 1n || degree.num < 1n || degree.num > 64n)
    return 'open';
  return root(arg, Number(degree.num)) ?? 'open';
}

function repeated(node: Node & { t: 'over' }, scope: ExactScope): Exact {
  const from = exact(node.from, scope);
  const to = exact(node.to, scope);
  if (typeof from === 'string' || typeof to === 'string' || from.den !== 1n || to.den !== 1n) return 'open';
  const count = to.num - from.num + 1n;
  if (count > BigInt(maxTerms) || count < 0n) return 'open';
  const sum = node.op === 'sum';
  const inner = new Map(scope);
  let total = sum ? zero : one;
  for (let index = from.num; index <= to.num; index++) {
    const value = exact(node.body, inner.set(node.name, whole(index)));
    if (typeof value === 'string') return value;
    const next = charge(total, value) ? (sum ? add(total, value) : multiply(total, value)) : null;
    if (next === null) return 'open';
    total = next;
  }
  return total;
}

function called(name: string, args: readonly Node[], scope: ExactScope): Exact {
  const values: Rational[] = [];
  let open = false;
  for (const arg of args) {
    const value = exact(arg, scope);
    if (value === 'undefined') return 'undefined';
    if (value === 'open') open = true;
    else values.push(value);
  }
  if (open || values.length === 0) return 'open';
  const [a, b] = values as [Rational, Rational | undefined];
  switch (name) {
    case 'abs':
      return a.num < 0n ? negate(a) : a;
    case 'floor':
      return whole(floor(a));
    case 'ceil':
      return whole(-floor(negate(a)));
    case 'max':
    case 'min':
      return values.reduce((best, each) => (compare(each, best) > 0 === (name === 'max') ? each : best));
    case 'factorial':
      return factorial(a, 1);
    case 'doubleFactorial':
      return factorial(a, 2);
    case 'binom':
      return b === undefined ? 'open' : binomial(a, b);
    case 'mod':
      return b === undefined || b.num <= 0n ? 'open' : remainder(a, b);
    case 'gcd':
    case 'lcm':
      return common(name, values);
    case 'exp':
      return a.num === 0n ? one : 'open';
    case 'log':
      return a.num === 0n ? 'undefined' : a.num === a.den ? zero : 'open';
    case 'cbrt':
      return root(a, 3) ?? 'open';
    default:
      return 'open';
  }
}

function floor(a: Rational): bigint {
  const quotient = a.num / a.den;
  return a.num < 0n && quotient * a.den !== a.num ? quotient - 1n : quotient;
}

function remainder(a: Rational, b: Rational): Exact {
  if (!isWhole(a) || !isWhole(b)) return 'open';
  return whole(((a.num % b.num) + b.num) % b.num);
}

function factorial(a: Rational, step: number): Exact {
  if (!isWhole(a) || a.num > BigInt(maxFactorial)) return 'open';
  if (a.num < 0n) return 'undefined';
  const n = Number(a.num);
  if (!spend('exact', n + (n * n) / 500)) return 'open';
  return whole(descending(n, 1, step));
}

/** n (n - step) … down to above `low`, by halves so that the factors stay of one size. */
function descending(high: number, low: number, step: number): bigint {
  if (high <= low) return 1n;
  if (high - low < 8 * step) {
    let result = 1n;
    for (let k = high; k > low; k -= step) result *= BigInt(k);
    return result;
  }
  const middle = high - step * Math.floor((high - low) / (2 * step));
  return descending(high, middle, step) * descending(middle, low, step);
}

function binomial(n: Rational, k: Rational): Exact {
  if (!isWhole(n) || !isWhole(k) || n.num < 0n || n.num > BigInt(maxFactorial)) return 'open';
  if (k.num < 0n || k.num > n.num) return zero;
  let result = 1n;
  const steps = k.num * 2n > n.num ? n.num - k.num : k.num;
  if (!spend('exact', Number(steps) * 2)) return 'open';
  for (let j = 1n; j <= steps; j++) result = (result * (n.num - steps + j)) / j;
  return whole(result);
}

function common(name: 'gcd' | 'lcm', values: readonly Rational[]): Exact {
  if (!values.every(isWhole) || values.some((each) => bits(each.num) > 2048)) return 'open';
  let result = values[0]!.num;
  for (const { num } of values.slice(1)) {
    const divisor = gcd(result, num);
    if (name === 'gcd') result = divisor;
    else result = divisor === 0n ? 0n : (result / divisor) * num;
  }
  return fraction(result < 0n ? -result : result, 1n) ?? 'open';
}
