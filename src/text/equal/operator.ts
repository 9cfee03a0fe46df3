/** Sums, products, integrals and limits of an expression over one variable, by number. */
import { type Complex, complex, isReal, magnitude, product, sum } from './complex.js';

type Value = Complex | 'open' | 'undefined';
type At = (value: Complex) => Value;

const maxTerms = 1000;

/** Σ or Π from `from` to `to`; to infinity only where the tail can be extrapolated. */
export function series(at: At, from: number, to: number, op: 'sum' | 'prod'): Value {
  if (!Number.isSafeInteger(from)) return 'open';
  if (to === Number.POSITIVE_INFINITY) return op === 'sum' ? infiniteSum(at, from) : 'open';
  if (!Number.isSafeInteger(to) || to - from >= maxTerms || to < from - 1) return 'open';
  let total = complex(op === 'sum' ? 0 : 1);
  for (let k = from; k <= to; k++) {
    const value = at(complex(k));
    if (typeof value === 'string') return value;
    total = op === 'sum' ? sum(total, value) : product(total, value);
  }
  return total;
}

const terms = 120;

/** A convergent series of real terms: by adding up where that settles, else by Levin's u-transform. */
function infiniteSum(at: At, from: number): Value {
  const term: number[] = [];
  const partial: number[] = [];
  let total = 0;
  for (let k = 0; k < terms; k++) {
    const value = at(complex(from + k));
    if (typeof value === 'string') return k > 20 && value === 'open' ? settled(term, total) : value;
    if (!isReal(value)) return 'open';
    total += value.re;
    term.push(value.re);
    partial.push(total);
  }
  const direct = settled(term, total);
  return direct === 'open' ? levin(term, partial) : direct;
}

function settled(term: readonly number[], total: number): Value {
  const last = Math.abs(term.at(-1) ?? 0) + Math.abs(term.at(-2) ?? 0);
  return last < 1e-15 * Math.max(Math.abs(total), 1e-3)
    ? complex(total, 0, 1e-13 * Math.abs(total) + 1e-15)
    : 'open';
}

function levin(term: readonly number[], partial: readonly number[]): Value {
  const [early, late] = [Math.abs(term[terms / 2 - 1]!), Math.abs(term[terms - 1]!)];
  const alternates = term[terms - 1]! * term[terms - 2]! < 0;
  if (!(late < early * (alternates ? 0.9 : 0.46))) return 'open';
  let [a, b] = [levinAt(term, partial, 1), levinAt(term, partial, 2)];
  for (let order = 3; order <= 18; order++) {
    const c = levinAt(term, partial, order);
    const size = Math.max(Math.abs(c), 1e-3);
    if (Math.abs(a - b) < 1e-9 * size && Math.abs(b - c) < 1e-9 * size) return complex(c, 0, 1e-10 * size);
    [a, b] = [b, c];
  }
  return 'open';
}

/** Levin's u-transform of order k from the first k + 1 terms (β = 1). */
function levinAt(term: readonly number[], partial: readonly number[], k: number): number {
  let above = 0;
  let below = 0;
  let binomial = 1;
  for (let j = 0; j <= k; j++) {
    const weight = (j % 2 === 0 ? 1 : -1) * binomial * ((j + 1) / (k + 1)) ** (k - 2);
    const scale = weight / term[j]!;
    above += scale * partial[j]!;
    below += scale;
    binomial = (binomial * (k - j)) / (j + 1);
  }
  return above / below;
}

/** A definite integral of a real function by double-exponential quadrature. */
export function integral(at: At, from: number, to: number): Value {
  if (from > to) {
    const other = integral(at, to, from);
    return typeof other === 'string' ? other : complex(-other.re, 0, other.error);
  }
  if (from === to) return complex(0);
  let previous = Number.NaN;
  for (let level = 3; level <= 6; level++) {
    const value = quadrature(at, from, to, 2 ** -level);
    if (value === null) return 'open';
    if (Math.abs(value - previous) <= 1e-10 * Math.max(Math.abs(value), 1e-3))
      return complex(value, 0, 1e-11 * Math.abs(value) + 1e-14);
    previous = value;
  }
  return 'open';
}

/** One sum of the rule; null where the function has no value, or does not vanish where it leaves the range of doubles. */
function quadrature(at: At, from: number, to: number, step: number): number | null {
  const place = placement(from, to);
  let total = 0;
  let largest = 0;
  let edges = 0;
  let previous: number | null = null;
  for (let t = -4; t <= 4; t += step) {
    const [x, weight] = place(t);
    if (!(x > from && x < to) || weight < 1e-290) continue;
    const value = at(complex(x));
    if (value === 'undefined' || (value === 'open' && Math.abs(t) <= 1)) return null;
    const part = value === 'open' ? null : value.re * weight;
    if (value !== 'open' && !isReal(value)) return null;
    if ((part === null) !== (previous === null) && t > -4)
      edges = Math.max(edges, Math.abs(part ?? previous ?? 0));
    if (part !== null) {
      total += part;
      largest = Math.max(largest, Math.abs(part));
    }
    previous = part;
  }
  return edges > 1e-9 * largest && previous === null ? null : total * step;
}

/** Point and weight of the substitution x(t) that carries the range to the whole line. */
function placement(from: number, to: number): (t: number) => readonly [number, number] {
  const half = Math.PI / 2;
  const [lower, upper] = [Number.isFinite(from), Number.isFinite(to)];
  if (lower && upper) {
    const [centre, radius] = [(from + to) / 2, (to - from) / 2];
    return (t) => {
      const u = half * Math.sinh(t);
      return [centre + radius * Math.tanh(u), (radius * half * Math.cosh(t)) / Math.cosh(u) ** 2];
    };
  }
  if (!lower && !upper)
    return (t) => [Math.sinh(half * Math.sinh(t)), half * Math.cosh(t) * Math.cosh(half * Math.sinh(t))];
  return (t) => {
    const distance = Math.exp(half * Math.sinh(t));
    return [lower ? from + distance : to - distance, distance * half * Math.cosh(t)];
  };
}

/** A limit, by extrapolating values on the way to the point. */
export function limit(at: At, point: number): Value {
  const sides = Number.isFinite(point) ? [1, -1] : [Math.sign(point)];
  const found: number[] = [];
  for (const side of sides) {
    const value = oneSided((h) => at(complex(Number.isFinite(point) ? point + side * h : side / h)));
    if (value === null) return 'open';
    found.push(value);
  }
  const [a, b = a] = found as [number, number?];
  return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a))
    ? complex(a, 0, 1e-9 * Math.max(1, magnitude(complex(a))))
    : 'open';
}

/** Richardson extrapolation of f(h) to h = 0 over halving steps; null where it does not settle. */
function oneSided(f: (h: number) => Value): number | null {
  let row: number[] = [];
  let best = Number.NaN;
  for (let k = 0; k < 9; k++) {
    const value = f(2 ** -(k + 3));
    if (typeof value === 'string' || !isReal(value)) return null;
    const next = [value.re];
    for (let j = 1; j <= k; j++) next.push(next[j - 1]! + (next[j - 1]! - row[j - 1]!) / (2 ** j - 1));
    const last = next.at(-1)!;
    if (k >= 5 && Math.abs(last - best) <= 1e-9 * Math.max(1, Math.abs(last))) return last;
    best = last;
    row = next;
  }
  return null;
}
