/** Sets of real numbers as sorted pieces: intervals, points, unions, and the solutions of inequalities. */
import { exact } from './exact.js';
import { type Node, variables } from './node.js';
import { add, type Rational, whole, zero } from './rational.js';
import { realConstant } from './scalar.js';

interface End {
  readonly value: number;
  readonly key: string;
}

/** Numbers from `low` to `high`, which belong to it where closed. A point has equal closed ends. */
export interface Piece {
  readonly low: End;
  readonly high: End;
  readonly lowClosed: boolean;
  readonly highClosed: boolean;
}

const minusInfinity: End = { value: Number.NEGATIVE_INFINITY, key: '-inf' };
const plusInfinity: End = { value: Number.POSITIVE_INFINITY, key: 'inf' };
const everything: readonly Piece[] = [
  { low: minusInfinity, high: plusInfinity, lowClosed: false, highClosed: false },
];

/** The set a node writes, or null when it is no set of real constants. */
export function regionOf(node: Node): readonly Piece[] | null {
  switch (node.t) {
    case 'tuple':
      return node.items.length === 2 ? interval(node) : null;
    case 'set':
      return points(node.items);
    case 'domain':
      return node.name === 'R' ? everything : null;
    case 'union':
      return both(node.left, node.right, (a, b) => merged([...a, ...b]));
    case 'intersection':
      return both(node.left, node.right, intersected);
    case 'without':
      return both(node.left, node.right, (a, b) => intersected(a, complement(b)));
    case 'add':
      return difference(node);
    case 'builder':
      return solved(node.condition, node.name);
    default:
      return points([node]);
  }
}

/** `R - \{0\}`. */
function difference(node: Node & { t: 'add' | 'mul' }): readonly Piece[] | null {
  const [left, right] = node.args;
  if (node.args.length !== 2 || left!.t !== 'domain' || right!.t !== 'neg' || right!.arg.t !== 'set')
    return points([node]);
  return both(left!, right!.arg, (a, b) => intersected(a, complement(b)));
}

function both(
  left: Node,
  right: Node,
  join: (a: readonly Piece[], b: readonly Piece[]) => readonly Piece[],
): readonly Piece[] | null {
  const a = regionOf(left);
  const b = a === null ? null : regionOf(right);
  return a === null || b === null ? null : join(a, b);
}

function interval(node: Node & { t: 'tuple' }): readonly Piece[] | null {
  const low = realConstant(node.items[0]!);
  const high = realConstant(node.items[1]!);
  if (low === null || high === null || low.value > high.value) return null;
  return [piece(low, high, node.open === '[', node.close === ']')];
}

function piece(low: End, high: End, lowClosed: boolean, highClosed: boolean): Piece {
  return {
    low,
    high,
    lowClosed: lowClosed && Number.isFinite(low.value),
    highClosed: highClosed && Number.isFinite(high.value),
  };
}

/** More numbers than this are no answer. */
const maxPoints = 200;

function points(items: readonly Node[]): readonly Piece[] | null {
  if (items.length > maxPoints) return null;
  const found: Piece[] = [];
  for (const item of items) {
    const value = realConstant(item);
    if (value === null || !Number.isFinite(value.value)) return null;
    found.push({ low: value, high: value, lowClosed: true, highClosed: true });
  }
  return merged(found);
}

function isEmpty({ low, high, lowClosed, highClosed }: Piece): boolean {
  return low.key === high.key ? !(lowClosed && highClosed) : low.value > high.value;
}

function merged(pieces: readonly Piece[]): readonly Piece[] {
  const sorted = pieces.filter((each) => !isEmpty(each));
  sorted.sort((a, b) => order(a.low, b.low) || Number(b.lowClosed) - Number(a.lowClosed));
  const result: Piece[] = [];
  for (const next of sorted) {
    const last = result.at(-1);
    const touch = last === undefined ? -1 : order(last.high, next.low);
    if (last === undefined || touch < 0 || (touch === 0 && !last.highClosed && !next.lowClosed))
      result.push(next);
    else result[result.length - 1] = joinedEnds(last, next);
  }
  return result;
}

function joinedEnds(a: Piece, b: Piece): Piece {
  const further = order(a.high, b.high);
  const highClosed = further === 0 ? a.highClosed || b.highClosed : further > 0 ? a.highClosed : b.highClosed;
  return { low: a.low, lowClosed: a.lowClosed, high: further >= 0 ? a.high : b.high, highClosed };
}

function order(a: End, b: End): number {
  return a.key === b.key ? 0 : a.value - b.value;
}

/** The numbers in both sets. */
export function intersected(a: readonly Piece[], b: readonly Piece[]): readonly Piece[] {
  const result: Piece[] = [];
  for (const x of a.slice(0, 100)) {
    for (const y of b.slice(0, 100)) {
      const lows = order(x.low, y.low);
      const highs = order(x.high, y.high);
      result.push({
        low: lows >= 0 ? x.low : y.low,
        lowClosed: lows === 0 ? x.lowClosed && y.lowClosed : lows > 0 ? x.lowClosed : y.lowClosed,
        high: highs <= 0 ? x.high : y.high,
        highClosed: highs === 0 ? x.highClosed && y.highClosed : highs < 0 ? x.highClosed : y.highClosed,
      });
    }
  }
  return merged(result);
}

/** The numbers in either set. */
export function united(a: readonly Piece[], b: readonly Piece[]): readonly Piece[] {
  return merged([...a, ...b]);
}

function complement(pieces: readonly Piece[]): readonly Piece[] {
  const result: Piece[] = [];
  let low = minusInfinity;
  let closed = false;
  for (const each of pieces) {
    result.push({
      low,
      lowClosed: closed,
      high: each.low,
      highClosed: !each.lowClosed && Number.isFinite(each.low.value),
    });
    low = each.high;
    closed = !each.highClosed && Number.isFinite(each.high.value);
  }
  result.push({ low, lowClosed: closed, high: plusInfinity, highClosed: false });
  return merged(result);
}

/** The key of a set: its elements when it is finite, else its intervals in order. */
export function regionKey(pieces: readonly Piece[]): string {
  if (pieces.every((each) => each.low.key === each.high.key)) {
    const keys = pieces.map((each) => each.low.key).sort();
    return keys.length === 1 ? keys[0]! : `{${keys.join(',')}}`;
  }
  return pieces
    .map(({ low, high, lowClosed, highClosed }) =>
      low.key === high.key
        ? `{${low.key}}`
        : `${lowClosed ? '[' : '('}${low.key},${high.key}${highClosed ? ']' : ')'}`,
    )
    .join('U');
}

const flipped: Readonly<Record<string, string>> = {
  '<': '>',
  '>': '<',
  '<=': '>=',
  '>=': '<=',
  '=': '=',
  '!=': '!=',
};

/** The solutions of a chain of inequalities in one unknown, or null. `isUnknown` tells what may stand for it. */
export function solved(
  node: Node,
  name: string,
  isUnknown: (side: Node) => boolean = () => false,
): readonly Piece[] | null {
  if (node.t === 'list') {
    const parts = node.items.map((each) => solved(each, name, isUnknown));
    if (parts.some((each) => each === null)) return null;
    return (parts as (readonly Piece[])[]).reduce(node.join === 'or' ? united : intersected);
  }
  if (node.t !== 'relation') return null;
  let result = everything;
  for (const [index, op] of node.ops.entries()) {
    const part = halfLine(node.sides[index]!, op, node.sides[index + 1]!, name, isUnknown);
    if (part === null) return null;
    result = intersected(result, part);
  }
  return result;
}

function halfLine(
  left: Node,
  op: string,
  right: Node,
  name: string,
  isUnknown: (side: Node) => boolean,
): readonly Piece[] | null {
  if (op === 'in')
    return isUnknown(left) || (left.t === 'sym' && left.name === name) ? regionOf(right) : null;
  if (flipped[op] === undefined) return null;
  for (const [unknown, other, relation] of [
    [left, right, op],
    [right, left, flipped[op]!],
  ] as const) {
    const value = realConstant(other);
    const single = isUnknown(unknown) || (unknown.t === 'sym' && unknown.name === name);
    if (value !== null && single) return ray(relation, value);
  }
  return absolute(left, op, right, name) ?? linear(left, op, right, name);
}

/** |a| < c is -c < a < c, and |a| > c is a < -c or a > c. */
function absolute(left: Node, op: string, right: Node, name: string): readonly Piece[] | null {
  const isAbsolute = (side: Node): side is Node & { t: 'call' } => side.t === 'call' && side.name === 'abs';
  if (!isAbsolute(left)) return isAbsolute(right) ? absolute(right, flipped[op]!, left, name) : null;
  const bound = realConstant(right);
  if (bound === null || bound.value < 0 || (op !== '!=' && op !== '=' && !/^[<>]/.test(op))) return null;
  const inside = op.startsWith('<') || op === '!=';
  const never = () => false;
  const above = halfLine(left.args[0]!, op, right, name, never);
  const below = halfLine(left.args[0]!, flipped[op]!, { t: 'neg', arg: right }, name, never);
  return above === null || below === null ? null : (inside ? intersected : united)(above, below);
}

function ray(op: string, end: End): readonly Piece[] {
  const closed = op !== '<' && op !== '>';
  if (op === '=') return [{ low: end, high: end, lowClosed: true, highClosed: true }];
  if (op === '!=') return complement([{ low: end, high: end, lowClosed: true, highClosed: true }]);
  return op.startsWith('<')
    ? [piece(minusInfinity, end, false, closed)]
    : [piece(end, plusInfinity, closed, false)];
}

/** Solves a linear relation in the one variable by its exact values at a few points. */
function linear(left: Node, op: string, right: Node, name: string): readonly Piece[] | null {
  const side: Node = { t: 'add', args: [left, { t: 'neg', arg: right }] };
  const names = variables(side);
  if (names.size !== 1 || !names.has(name)) return null;
  const at = (x: number): Rational | null => {
    const value = exact(side, new Map([[name, whole(x)]]));
    return typeof value === 'string' ? null : value;
  };
  const [b, sum, ...others] = [at(0), at(1), at(2), at(7), at(-5)];
  if (b == null || sum == null) return null;
  const a = add(sum, { num: -b.num, den: b.den }) ?? zero;
  if (a.num === 0n) return null;
  const isLinear = others.every((value, k) => {
    const x = BigInt([2, 7, -5][k]!);
    const expected = add({ num: a.num * x, den: a.den }, b);
    return value != null && expected !== null && value.num * expected.den === expected.num * value.den;
  });
  if (!isLinear) return null;
  const root = realConstant({ t: 'neg', arg: { t: 'div', left: number(b), right: number(a) } });
  return root === null ? null : ray(a.num > 0n ? op : flipped[op]!, root);
}

function number(value: Rational): Node {
  return { t: 'num', value, digits: '' };
}
