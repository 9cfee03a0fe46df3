/** Known functions of complex numbers with error estimates. */
import {
  type Complex,
  complex,
  isReal,
  isZero,
  magnitude,
  opposite,
  product,
  quotient,
  sum,
} from './complex.js';

/** Functions that others are made of. */
export interface Functions {
  readonly exponential: (a: Complex) => Complex;
  readonly logarithm: (a: Complex) => Complex | null;
  readonly squareRoot: (a: Complex) => Complex;
}

type Result = Complex | 'open' | 'undefined';

const unit = 2 ** -52;
const i = complex(0, 1);

const real: Readonly<Record<string, (x: number) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  atan: Math.atan,
  asinh: Math.asinh,
  acot: (x) => Math.PI / 2 - Math.atan(x),
};
const bounded: Readonly<Record<string, (x: number) => number>> = {
  asin: Math.asin,
  acos: Math.acos,
  atanh: Math.atanh,
};
const ratios: Readonly<Record<string, readonly [string, string]>> = {
  tan: ['sin', 'cos'],
  cot: ['cos', 'sin'],
  sec: ['one', 'cos'],
  csc: ['one', 'sin'],
  coth: ['cosh', 'sinh'],
};

/** The value of a named function. */
export function callFunction(name: string, args: readonly Complex[], use: Functions): Result {
  const [a, b] = args;
  if (a === undefined) return 'open';
  if (name === 'one') return complex(1);
  const parts = ratios[name];
  if (parts !== undefined) {
    const above = callFunction(parts[0], args, use);
    const below = callFunction(parts[1], args, use);
    return typeof above === 'string' || typeof below === 'string'
      ? 'open'
      : (quotient(above, below) ?? 'undefined');
  }
  const plain = real[name] ?? (Math.abs(a.re) <= 1 ? bounded[name] : undefined);
  if (plain !== undefined && isReal(a)) return spread(plain, a);
  switch (name) {
    case 'sin':
    case 'cos':
      return circular(name, a, use);
    case 'exp':
      return use.exponential(a);
    case 'log':
      return logarithm(a, b, use);
    case 'log10':
      return logarithm(a, complex(10), use);
    case 'log2':
      return logarithm(a, complex(2), use);
    case 'cbrt':
      return isReal(a) ? spread(Math.cbrt, a) : 'open';
    case 'abs':
      return complex(magnitude(a), 0, a.error);
    case 're':
      return complex(a.re, 0, a.error);
    case 'im':
      return complex(a.im, 0, a.error);
    case 'acosh':
      return isReal(a) && a.re >= 1 ? spread(Math.acosh, a) : 'open';
    case 'binom':
      return b === undefined ? 'open' : binomial(a, b);
    case 'factorial':
      return isReal(a) ? gamma(a.re + 1, a.error) : 'open';
    default:
      return ordered(name, args);
  }
}

/** A real function; its error is its change over the argument's error. */
function spread(f: (x: number) => number, a: Complex): Result {
  const value = f(a.re);
  if (!Number.isFinite(value)) return 'undefined';
  const change = a.error === 0 ? 0 : Math.abs(f(a.re + a.error) - value);
  return complex(value, 0, (Number.isFinite(change) ? change : 1) + 2 * unit * Math.abs(value) + unit * unit);
}

function circular(name: 'sin' | 'cos', a: Complex, use: Functions): Result {
  const up = use.exponential(product(i, a));
  const down = use.exponential(opposite(product(i, a)));
  const both = name === 'sin' ? sum(up, opposite(down)) : sum(up, down);
  return quotient(both, name === 'sin' ? complex(0, 2) : complex(2)) ?? 'open';
}

function logarithm(a: Complex, base: Complex | undefined, use: Functions): Result {
  const above = use.logarithm(a);
  if (above === null) return 'undefined';
  if (base === undefined) return above;
  const below = use.logarithm(base);
  return below === null ? 'undefined' : (quotient(above, below) ?? 'undefined');
}

function ordered(name: string, args: readonly Complex[]): Result {
  if (!args.every(isReal)) return 'open';
  const values = args.map((each) => each.re);
  const [x] = values;
  const error = Math.max(...args.map((each) => each.error));
  if (name === 'max') return complex(Math.max(...values), 0, error);
  if (name === 'min') return complex(Math.min(...values), 0, error);
  if (name !== 'floor' && name !== 'ceil') return 'open';
  const nearest = Math.round(x!);
  if (Math.abs(nearest - x!) <= 8 * error) return complex(nearest);
  return Number.isSafeInteger(nearest) ? complex(name === 'floor' ? Math.floor(x!) : Math.ceil(x!)) : 'open';
}

function binomial(n: Complex, k: Complex): Result {
  if (!isReal(n) || !isReal(k)) return 'open';
  const above = gamma(n.re + 1, n.error);
  const left = gamma(k.re + 1, k.error);
  const right = gamma(n.re - k.re + 1, n.error + k.error);
  if (typeof above === 'string' || typeof left === 'string' || typeof right === 'string') return 'open';
  return quotient(above, product(left, right)) ?? 'open';
}

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** The gamma function by Lanczos' approximation (g = 7, nine terms), to about 13 digits. */
function gamma(x: number, error: number): Result {
  if (x > 160 || x < -160) return 'open';
  if (x < 0.5) {
    const sine = Math.sin(Math.PI * x);
    const mirrored = gamma(1 - x, error);
    if (Math.abs(sine) < 1e-14) return 'undefined';
    return typeof mirrored === 'string' ? mirrored : relative(Math.PI / (sine * mirrored.re), error);
  }
  const z = x - 1;
  let series = lanczos[0]!;
  for (let k = 1; k < lanczos.length; k++) series += lanczos[k]! / (z + k);
  const t = z + 7.5;
  return relative(Math.sqrt(2 * Math.PI) * t ** (z + 0.5) * Math.exp(-t) * series, error);
}

function relative(value: number, error: number): Complex {
  const result = complex(value, 0, Math.abs(value) * (2e-14 + 10 * error));
  return isZero(result) ? complex(0) : result;
}
