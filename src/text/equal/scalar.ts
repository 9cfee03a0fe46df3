/** Keys of expressions: numbers by value, formulas by their values at fixed points, towers by structure. */
import { type Complex, complex, isReal, magnitude } from './complex.js';
import { exact } from './exact.js';
import { hash, residue } from './modular.js';
import { children, type Node, some, variables } from './node.js';
import { complexKey, rationalKey, realKey, sampleKey } from './number-key.js';
import { type Numeric, numeric, numericScope } from './numeric.js';
import { fraction, toNumber } from './rational.js';

/** Points with positive values only come first; at the others some variables are negative. */
export const samplePoints = 6;
const positivePoints = 4;

/** The key of an expression; null when it is undefined or holds something that is no expression. */
export function scalarKey(node: Node): string | null {
  if (!isExpression(node)) return null;
  if (some(node, (part) => part.t === 'inf') && !some(node, (part) => part.t === 'over'))
    return infinityKey(node);
  return variables(node).size === 0 ? constantKey(node) : formulaKey(node);
}

const expressions: ReadonlySet<string> = new Set(
  'num sym const inf add mul neg degrees div pow root call apply over unit'.split(' '),
);

/** Whether the node and all its parts are numbers, names and operations on them. */
export function isExpression(node: Node): boolean {
  return expressions.has(node.t) && children(node).every(isExpression);
}

function infinityKey(node: Node): string | null {
  if (node.t === 'inf') return 'inf';
  if (node.t === 'neg') {
    const key = infinityKey(node.arg);
    return key === 'inf' ? '-inf' : key === '-inf' ? 'inf' : null;
  }
  if (node.t === 'degrees') return infinityKey(node.arg);
  if (node.t === 'mul' && node.args.every((arg) => arg.t === 'inf' || arg.t === 'unit')) return 'inf';
  return `tree:${structure(node)}`;
}

function constantKey(node: Node): string | null {
  const value = exact(node);
  if (value === 'undefined') return null;
  if (value !== 'open') return rationalKey(value);
  const approximate = numeric(node, numericScope());
  if (approximate === 'undefined') return null;
  return approximate === 'open' ? `tree:${structure(node)}` : complexKey(approximate);
}

/** The value of a real constant with its key, or null. */
export function realConstant(node: Node): { value: number; key: string } | null {
  if (node.t === 'inf') return { value: Number.POSITIVE_INFINITY, key: 'inf' };
  if (node.t === 'neg' && node.arg.t === 'inf') return { value: Number.NEGATIVE_INFINITY, key: '-inf' };
  if (!isExpression(node) || variables(node).size > 0) return null;
  const value = exact(node);
  if (value !== 'open')
    return value === 'undefined' ? null : { value: toNumber(value), key: rationalKey(value) };
  const approximate = numeric(node, numericScope());
  if (typeof approximate === 'string' || !isReal(approximate)) return null;
  return { value: approximate.re, key: realKey(approximate.re, approximate.error) };
}

function formulaKey(node: Node): string | null {
  const first = residue(node, 1);
  const second = residue(node, 2);
  if (first === 'undefined' && second === 'undefined') return null;
  if (typeof first === 'bigint' && typeof second === 'bigint') {
    return first === second
      ? constantOf(node, `poly:${first}`)
      : `poly:${first.toString(36)}.${second.toString(36)}`;
  }
  const values = samples(node, samplePoints);
  if (values === null) return values === null && isUndefined(node) ? null : `tree:${structure(node)}`;
  const keys = values.map(sampleOf);
  if (keys.slice(0, positivePoints).some((key) => key === null)) return `tree:${structure(node)}`;
  if (keys.every((key) => key === keys[0])) return complexKey(values[0] as Complex);
  return `formula:${keys.join(';')}`;
}

/** A formula whose variables cancel: its value at any point, exact where it can be. */
function constantOf(node: Node, otherwise: string): string | null {
  const values = new Map([...variables(node)].map((name) => [name, fraction(hash(name) % 97n, 89n)!]));
  const value = exact(node, values);
  if (value === 'undefined') return null;
  if (value !== 'open') return rationalKey(value);
  const approximate = samples(node, 1)?.[0];
  return approximate === undefined || typeof approximate === 'string' ? otherwise : complexKey(approximate);
}

/** Nine digits where the value is real or all variables are positive; elsewhere the branch is a matter of taste. */
function sampleOf(value: Numeric, point: number): string | null {
  if (typeof value === 'string') return point < positivePoints ? null : 'none';
  if (point >= positivePoints && !isReal(value)) return 'none';
  return sampleKey(value);
}

/** Values at the first `count` fixed points; null when one of the positive points has none. */
export function samples(
  node: Node,
  count: number,
  names: ReadonlySet<string> = variables(node),
): Numeric[] | null {
  const sorted = [...names].sort();
  const found: Numeric[] = [];
  for (let point = 0; point < count; point++) {
    const negative =
      point < positivePoints ? undefined : point === positivePoints ? sorted[0] : sorted.at(-1);
    const values = new Map<string, Complex>();
    for (const name of sorted)
      values.set(name, complex(coordinate(name, point) * (name === negative ? -1 : 1)));
    const value = numeric(node, numericScope(values));
    if (typeof value === 'string' && point < positivePoints) return null;
    found.push(value);
  }
  return found;
}

const coordinates = new Map<string, number>();

/** The size of a variable at a point: between 0.4 and 2.4. */
function coordinate(name: string, point: number): number {
  const label = `${point}:${name}`;
  let value = coordinates.get(label);
  if (value === undefined) {
    value = 0.4 + Number(hash(label) % 1_000_003n) / 500_001.5;
    if (coordinates.size > 5000) coordinates.clear();
    coordinates.set(label, value);
  }
  return value;
}

function isUndefined(node: Node): boolean {
  return [0, 1].every((point) => {
    const values = new Map([...variables(node)].map((name) => [name, complex(coordinate(name, point))]));
    return numeric(node, numericScope(values)) === 'undefined';
  });
}

/** Whether two formulas have the same values wherever both have one: at all positive points, and where both are real. */
export function agree(a: Node, b: Node): boolean {
  const names = variables(a);
  for (const name of variables(b)) names.add(name);
  if (some(a, countsToVariable) || some(b, countsToVariable)) return agreeAtIntegers(a, b, names);
  const left = samples(a, samplePoints, names);
  const right = samples(b, samplePoints, names);
  if (left === null || right === null) return false;
  return left.every((x, point) => {
    const y = right[point]!;
    if (typeof x === 'string' || typeof y === 'string') return point >= positivePoints;
    return (point >= positivePoints && !(isReal(x) && isReal(y))) || near(x, y);
  });
}

function near(x: Complex, y: Complex): boolean {
  const size = Math.max(magnitude(x), magnitude(y));
  if (x.error + y.error > 1e-9 * size && size > 1e-9) return false;
  return Math.hypot(x.re - y.re, x.im - y.im) <= 1e-9 * size + x.error + y.error;
}

/** A sum or product whose number of terms is a variable: it has values at integers only. */
function countsToVariable(node: Node): boolean {
  return (
    node.t === 'over' &&
    (node.op === 'sum' || node.op === 'prod') &&
    variables(node.to).size + variables(node.from).size > 0
  );
}

const integers = [2, 3, 5, 6, 9, 10];

function agreeAtIntegers(a: Node, b: Node, names: ReadonlySet<string>): boolean {
  return integers.every((base, point) => {
    const values = new Map(
      [...names].map((name) => [name, complex(base + Number(hash(`${name}${point}`) % 3n))]),
    );
    const [x, y] = [numeric(a, numericScope(values)), numeric(b, numericScope(values))];
    return typeof x !== 'string' && typeof y !== 'string' && near(x, y);
  });
}

/** An expression written out, with closed parts by value and the order of sums and products left out. */
function structure(node: Node): string {
  if (node.t === 'num') return rationalKey(node.value);
  if (node.t === 'sym' || node.t === 'const') return node.name;
  if (variables(node).size === 0) {
    const value = exact(node);
    if (typeof value !== 'string') return rationalKey(value);
  }
  const parts = children(node).map(structure);
  if (node.t === 'add' || node.t === 'mul') parts.sort();
  const name = 'name' in node ? node.name : 'op' in node ? node.op : '';
  return `${node.t}${name === '' ? '' : ` ${name}`}(${parts.join(',')})`;
}
