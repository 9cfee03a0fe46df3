/** Values of polynomial and rational expressions modulo a prime: equal residues at random points mean equal expressions. */
import { exact } from './exact.js';
import type { Node } from './node.js';
import { isWhole } from './rational.js';
import { spend } from './work.js';

/** The largest prime below 2^61 that is 1 modulo 4, so that -1 has a square root. */
const prime = 2305843009213693921n;
const imaginary = 583529827753931384n;

/** `other`: not a rational expression. `undefined`: a division by zero at this point. */
type Residue = bigint | 'other' | 'undefined';

/** A 64-bit hash of a name (FNV-1a), the same in every run. */
export function hash(text: string): bigint {
  let h = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++)
    h = ((h ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn;
  return h;
}

const points = new Map<string, bigint>();

/** The residue that stands for a name at a point. */
function pointOf(name: string, point: number): bigint {
  const label = `${point}:${name}`;
  let value = points.get(label);
  if (value === undefined) {
    value = (hash(label) * hash(`${label}:again`)) % prime;
    if (points.size > 5000) points.clear();
    points.set(label, value);
  }
  return value;
}

/** The value of a node modulo the prime, each name at its own residue. */
export function residue(node: Node, point: number): Residue {
  if (!spend('numeric', 2)) return 'other';
  switch (node.t) {
    case 'num':
      return quotient(modulo(node.value.num), modulo(node.value.den));
    case 'sym':
      return pointOf(node.name, point);
    case 'const':
      return node.name === 'i' ? imaginary : pointOf(`constant ${node.name}`, 0);
    case 'unit':
      return 1n;
    case 'degrees':
      return residue(node.arg, point);
    case 'neg': {
      const value = residue(node.arg, point);
      return typeof value === 'bigint' ? modulo(-value) : value;
    }
    case 'add':
    case 'mul':
      return folded(node, point);
    case 'div':
      return quotient(residue(node.left, point), residue(node.right, point));
    case 'pow':
      return raised(node, point);
    case 'apply':
      return applied(node, point);
    case 'root':
    case 'call':
    case 'over':
      return closed(node);
    default:
      return 'other';
  }
}

function modulo(n: bigint): bigint {
  const rest = n % prime;
  return rest < 0n ? rest + prime : rest;
}

function folded(node: Node & { t: 'add' | 'mul' }, point: number): Residue {
  let total = node.t === 'add' ? 0n : 1n;
  let failed: Residue | null = null;
  for (const arg of node.args) {
    const value = residue(arg, point);
    if (value === 'undefined') return value;
    if (value === 'other') failed = value;
    else total = modulo(node.t === 'add' ? total + value : total * value);
  }
  return failed ?? total;
}

function quotient(a: Residue, b: Residue): Residue {
  if (b === 1n) return a;
  if (a === 'undefined' || b === 'undefined' || b === 0n) return 'undefined';
  return a === 'other' || b === 'other' ? 'other' : modulo(a * raise(b, prime - 2n));
}

function raise(base: bigint, exponent: bigint): bigint {
  spend('numeric', 20);
  let result = 1n;
  let square = base;
  for (let e = exponent; e > 0n; e >>= 1n) {
    if (e & 1n) result = (result * square) % prime;
    square = (square * square) % prime;
  }
  return result;
}

function raised(node: Node & { t: 'pow' }, point: number): Residue {
  const exponent = exact(node.right);
  if (exponent === 'undefined') return exponent;
  if (exponent === 'open' || !isWhole(exponent)) return closed(node);
  const base = residue(node.left, point);
  if (typeof base !== 'bigint') return base;
  if (base === 0n && exponent.num < 0n) return 'undefined';
  const result = raise(base, (exponent.num < 0n ? -exponent.num : exponent.num) % (prime - 1n));
  return exponent.num < 0n ? raise(result, prime - 2n) : result;
}

/** A part without variables by its exact value. */
function closed(node: Node): Residue {
  const value = exact(node);
  if (value === 'undefined') return value;
  return value === 'open' ? 'other' : quotient(modulo(value.num), modulo(value.den));
}

/** An unknown function: a scrambled polynomial of its arguments, by its name. */
function applied(node: Node & { t: 'apply' }, point: number): Residue {
  let mixed = pointOf(`function ${node.name}`, 0);
  for (const arg of node.args) {
    const value = residue(arg, point);
    if (typeof value !== 'bigint') return value;
    mixed = modulo(raise(modulo(mixed + value), 5n) + mixed * 3n);
  }
  return mixed;
}
