/** Exact rational numbers over BigInt, with a cap on size: an operation that would pass it gives null. */

import { spend } from './work.js';

/** A fraction with a positive denominator; reduced unless it is very large. */
export interface Rational {
  readonly num: bigint;
  readonly den: bigint;
}

/** Numbers above this many bits are never computed. */
const maxBits = 200_000;
/** Above this many bits fractions stay unreduced, because Euclid's algorithm is quadratic. */
const reduceBits = 1024;
const maxExponent = 100_000n;
const small = 1n << 63n;

export const zero: Rational = { num: 0n, den: 1n };
export const one: Rational = { num: 1n, den: 1n };

/** Number of bits of |n|, rounded up to a multiple of four; small numbers count as 64. */
export function bits(n: bigint): number {
  return n < small && n > -small ? 64 : n.toString(16).length * 4;
}

/** An integer as a rational. */
export function whole(n: bigint | number): Rational {
  return { num: BigInt(n), den: 1n };
}

/** num/den in lowest terms; null when den is zero or a part is too large. */
export function fraction(num: bigint, den: bigint): Rational | null {
  if (den === 0n) return null;
  if (den === 1n) return bits(num) > maxBits ? null : { num, den };
  const size = Math.max(bits(num), bits(den));
  if (size > maxBits) return null;
  if (den < 0n) return fraction(-num, -den);
  if (size > reduceBits || (size > 128 && !spend('exact', size / 2)))
    return num % den === 0n ? { num: num / den, den: 1n } : { num, den };
  const divisor = gcd(num, den);
  return divisor === 1n ? { num, den } : { num: num / divisor, den: den / divisor };
}

/** Greatest common divisor, never negative. */
export function gcd(a: bigint, b: bigint): bigint {
  let x = a < 0n ? -a : a;
  let y = b < 0n ? -b : b;
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

export function add(a: Rational, b: Rational): Rational | null {
  if (a.den === 1n && b.den === 1n) return fraction(a.num + b.num, 1n);
  return fraction(a.num * b.den + b.num * a.den, a.den * b.den);
}

export function negate(a: Rational): Rational {
  return { num: -a.num, den: a.den };
}

export function multiply(a: Rational, b: Rational): Rational | null {
  return fraction(a.num * b.num, a.den * b.den);
}

/** a / b; null when b is zero (the caller asks first where that matters) or a part is too large. */
export function divide(a: Rational, b: Rational): Rational | null {
  return fraction(a.num * b.den, a.den * b.num);
}

export function isWhole(a: Rational): boolean {
  return a.den === 1n;
}

/** -1, 0 or 1 as a is below, equal to or above b. */
export function compare(a: Rational, b: Rational): number {
  const difference = a.num * b.den - b.num * a.den;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** a to an integer power; null when too large, or zero to a negative power. */
export function power(a: Rational, exponent: bigint): Rational | null {
  if (exponent < 0n)
    return a.num === 0n ? null : power({ num: a.den * sign(a.num), den: absolute(a.num) }, -exponent);
  if (a.den === 1n && (a.num === 0n || a.num === 1n)) return exponent === 0n ? one : a;
  if (a.den === 1n && a.num === -1n) return exponent % 2n === 0n ? one : a;
  if (exponent > maxExponent) return null;
  const widest = Math.max(width(a.num), width(a.den)) * Number(exponent);
  if (widest > maxBits) return null;
  return { num: a.num ** exponent, den: a.den ** exponent };
}

/** Bits of |n| without the rounding up of small numbers. */
function width(n: bigint): number {
  return absolute(n).toString(2).length;
}

function sign(n: bigint): bigint {
  return n < 0n ? -1n : 1n;
}

function absolute(n: bigint): bigint {
  return n < 0n ? -n : n;
}

/** The exact real root of a given degree when it is rational, else null. Odd roots of negatives are negative. */
export function root(a: Rational, degree: number): Rational | null {
  if (degree < 1 || degree > 64 || bits(a.num) > reduceBits || bits(a.den) > reduceBits) return null;
  if (a.num < 0n && degree % 2 === 0) return null;
  const num = integerRoot(absolute(a.num), degree);
  const den = integerRoot(a.den, degree);
  return num === null || den === null ? null : { num: num * sign(a.num), den };
}

function integerRoot(n: bigint, degree: number): bigint | null {
  if (n < 2n || degree === 1) return n;
  const d = BigInt(degree);
  let guess = 1n << (BigInt(width(n)) / d + 1n);
  for (;;) {
    const next = ((d - 1n) * guess + n / guess ** (d - 1n)) / d;
    if (next >= guess) return guess ** d === n ? guess : null;
    guess = next;
  }
}

/** The number that digits with an optional point and exponent write (`-?`, `12`, `.5`, `3.`, `4.5e-7`); null when too large. */
export function fromDecimal(text: string): Rational | null {
  const match = /^(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return null;
  const decimals = match[2] ?? '';
  const num = BigInt(`${match[1]}${decimals}` || '0');
  const shift = Number(match[3] ?? 0) - decimals.length;
  if (Math.abs(shift) > 20_000) return null;
  return shift >= 0 ? fraction(num * 10n ** BigInt(shift), 1n) : fraction(num, 10n ** BigInt(-shift));
}

/** The nearest double, also where both parts are far beyond the range of doubles. */
export function toNumber(a: Rational): number {
  const excess = Math.max(bits(a.num), bits(a.den));
  if (excess <= 64) return Number(a.num) / Number(a.den);
  const shift = BigInt(Math.max(0, width(a.den) - 100));
  const numShift = BigInt(Math.max(0, width(a.num) - 100));
  return (Number(a.num >> numShift) / Number(a.den >> shift)) * 2 ** Number(numShift - shift);
}
