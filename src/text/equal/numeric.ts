/** The value of an expression in double precision, for what has no exact value. */
import {
  type Complex,
  complex,
  exponential,
  isReal,
  isZero,
  logarithm,
  magnitude,
  opposite,
  power,
  product,
  quotient,
  squareRoot,
  sum,
} from './complex.js';
import { exact } from './exact.js';
import { callFunction, type Functions } from './function.js';
import type { Node } from './node.js';
import { integral, limit, series } from './operator.js';
import { toNumber } from './rational.js';
import { spend } from './work.js';

/** `open`: no value in doubles (too large, too small, unknown). `undefined`: a division by zero. */
export type Numeric = Complex | 'open' | 'undefined';

interface NumericScope {
  readonly values: ReadonlyMap<string, Complex>;
  /** Inside a trigonometric function, where degrees count as angles. */
  readonly angles: boolean;
}

const largest = 1e290;

/** A scope with these values of the variables. */
export function numericScope(values: ReadonlyMap<string, Complex> = new Map()): NumericScope {
  return { values, angles: false };
}

/** The value of a node; numbers beyond the range of doubles are `open`, never infinite and never rounded to zero. */
export function numeric(node: Node, scope: NumericScope): Numeric {
  if (!spend('numeric', 1)) return 'open';
  const value = evaluate(node, scope);
  if (typeof value === 'string') return value;
  const size = magnitude(value);
  return size < largest && (size === 0 || size > 1 / largest) ? value : 'open';
}

function evaluate(node: Node, scope: NumericScope): Numeric {
  switch (node.t) {
    case 'num': {
      const value = toNumber(node.value);
      if (value === 0 && node.value.num !== 0n) return 'open';
      return complex(value, 0, Number.isSafeInteger(value) ? 0 : Math.abs(value) * 2 ** -53);
    }
    case 'const':
      if (node.name === 'i') return complex(0, 1);
      return complex(node.name === 'pi' ? Math.PI : Math.E, 0, 4e-16);
    case 'sym':
      return scope.values.get(node.name) ?? 'open';
    case 'unit':
      return complex(1);
    case 'degrees':
      return scope.angles
        ? mapped(node.arg, scope, (x) => product(x, complex(Math.PI / 180, 0, 3e-18)))
        : numeric(node.arg, scope);
    case 'neg':
      return mapped(node.arg, scope, opposite);
    case 'add':
    case 'mul':
      return folded(node, scope);
    case 'div':
      return joined(node.left, node.right, scope, divided);
    case 'pow':
      return joined(node.left, node.right, scope, (a, b) => raised(a, b, node.right));
    case 'root':
      return joined(node.degree, node.arg, scope, (degree, arg) => rooted(arg, degree));
    case 'call':
      return called(node, scope);
    case 'apply':
      return applied(node, scope);
    case 'over':
      return over(node, scope);
    default:
      return 'open';
  }
}

function mapped(arg: Node, scope: NumericScope, change: (value: Complex) => Numeric): Numeric {
  const value = numeric(arg, scope);
  return typeof value === 'string' ? value : change(value);
}

function joined(
  left: Node,
  right: Node,
  scope: NumericScope,
  join: (a: Complex, b: Complex) => Numeric,
): Numeric {
  const a = numeric(left, scope);
  if (a === 'undefined') return a;
  const b = numeric(right, scope);
  return typeof a === 'string' || typeof b === 'string' ? (b === 'undefined' ? b : 'open') : join(a, b);
}

function divided(a: Complex, b: Complex): Numeric {
  return nonzero(quotient(a, b) ?? 'undefined', isZero(a));
}

/** A result that became zero by underflow is open. */
function nonzero(value: Numeric, mayVanish: boolean): Numeric {
  return typeof value !== 'string' && !mayVanish && magnitude(value) === 0 ? 'open' : value;
}

function folded(node: Node & { t: 'add' | 'mul' }, scope: NumericScope): Numeric {
  let total: Complex | null = null;
  let open = false;
  for (const arg of node.args) {
    const value = numeric(arg, scope);
    if (value === 'undefined') return value;
    if (value === 'open') open = true;
    else if (total === null) total = value;
    else if (node.t === 'add') total = sum(total, value);
    else {
      const next: Numeric = nonzero(product(total, value), isZero(total) || isZero(value));
      if (typeof next === 'string') return next;
      total = next;
    }
  }
  return open || total === null ? 'open' : total;
}

/** a^b; a real negative base keeps its real root where the exponent's denominator is odd. */
function raised(a: Complex, b: Complex, exponent: Node): Numeric {
  if (isReal(a) && a.re < 0 && b.im === 0 && !Number.isInteger(b.re)) {
    const ratio = exact(exponent);
    if (typeof ratio !== 'string' && ratio.den % 2n === 1n) {
      const size = power(complex(-a.re, 0, a.error), b);
      return size === null ? 'undefined' : ratio.num % 2n === 0n ? size : opposite(size);
    }
  }
  return nonzero(power(a, b) ?? 'undefined', isZero(a));
}

function rooted(arg: Complex, degree: Complex): Numeric {
  if (degree.re === 2 && degree.im === 0) return squareRoot(arg);
  const inverse = quotient(complex(1), degree);
  if (inverse === null) return 'undefined';
  const oddNegative =
    isReal(arg) && arg.re < 0 && Number.isInteger(degree.re) && Math.abs(degree.re % 2) === 1;
  if (!oddNegative) return power(arg, inverse) ?? 'undefined';
  const size = power(complex(-arg.re, 0, arg.error), inverse);
  return size === null ? 'undefined' : opposite(size);
}

const functions: Functions = { exponential, logarithm, squareRoot };
const trigonometric = /^(?:sin|cos|tan|cot|sec|csc)$/;

function called(node: Node & { t: 'call' }, scope: NumericScope): Numeric {
  const inner = trigonometric.test(node.name) ? { ...scope, angles: true } : scope;
  const args: Complex[] = [];
  for (const arg of node.args) {
    const value = numeric(arg, inner);
    if (typeof value === 'string') return value;
    args.push(value);
  }
  return callFunction(node.name, args, functions);
}

/** An unknown function: smooth in its arguments, different for each name. */
function applied(node: Node & { t: 'apply' }, scope: NumericScope): Numeric {
  let mixed = complex(1 + ([...node.name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 997, 7) / 997) * 0.8);
  for (const arg of node.args) {
    const value = numeric(arg, scope);
    if (typeof value === 'string') return value;
    mixed = sum(product(product(value, value), complex(0.37)), product(sum(value, complex(1.9)), mixed));
  }
  return mixed;
}

function over(node: Node & { t: 'over' }, scope: NumericScope): Numeric {
  const values = new Map(scope.values);
  const inner = { ...scope, values };
  const at = (value: Complex): Numeric => {
    values.set(node.name, value);
    return numeric(node.body, inner);
  };
  const from = bound(node.from, scope);
  const to = bound(node.to, scope);
  if (from === null || to === null) return 'open';
  if (node.op === 'lim') return limit(at, from);
  if (node.op === 'int') return integral(at, from, to);
  return series(at, from, to, node.op);
}

/** A real bound, possibly infinite. */
function bound(node: Node, scope: NumericScope): number | null {
  if (node.t === 'inf') return Number.POSITIVE_INFINITY;
  if (node.t === 'neg' && node.arg.t === 'inf') return Number.NEGATIVE_INFINITY;
  const value = numeric(node, scope);
  return typeof value === 'string' || !isReal(value) ? null : value.re;
}
