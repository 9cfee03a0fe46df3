/** Arithmetic of matrices: sums, products, multiples, powers, transposes, determinants. */
import { exact } from './exact.js';
import { mapParts, type Node, some } from './node.js';

type Rows = readonly (readonly Node[])[];

/** Matrices larger than this are only compared, not computed with. */
const maxSide = 8;

/** Replaces matrix arithmetic by its result; what cannot be computed stays. */
export function computed(node: Node): Node {
  if (node.t === 'matrix' || !some(node, (part) => part.t === 'matrix')) return node;
  const inner = mapParts(node, computed);
  switch (inner.t) {
    case 'neg':
      return inner.arg.t === 'matrix' ? scaled({ t: 'neg', arg: one }, inner.arg.rows) : inner;
    case 'add':
      return inner.args.reduce((a, b) =>
        a.t === 'matrix' && b.t === 'matrix' ? added(a.rows, b.rows) : unresolved(inner),
      );
    case 'mul':
      return productOf(inner.args);
    case 'div':
      return inner.left.t === 'matrix' && inner.right.t !== 'matrix'
        ? scaled({ t: 'div', left: one, right: inner.right }, inner.left.rows)
        : inner;
    case 'pow':
      return inner.left.t === 'matrix' ? raised(inner.left.rows, inner) : inner;
    case 'call':
      return inner.name === 'det' && inner.args[0]?.t === 'matrix'
        ? determinant(inner.args[0].rows, inner)
        : inner;
    default:
      return inner;
  }
}

const one: Node = { t: 'num', value: { num: 1n, den: 1n }, digits: '1' };

function unresolved(node: Node): Node {
  return { t: 'text', text: `matrix ${node.t}` };
}

function scaled(factor: Node, rows: Rows): Node {
  return {
    t: 'matrix',
    rows: rows.map((row) => row.map((cell): Node => ({ t: 'mul', args: [factor, cell] }))),
  };
}

function added(a: Rows, b: Rows): Node {
  if (a.length !== b.length || a[0]!.length !== b[0]!.length) return unresolved({ t: 'add', args: [] });
  return {
    t: 'matrix',
    rows: a.map((row, i) => row.map((cell, j): Node => ({ t: 'add', args: [cell, b[i]![j]!] }))),
  };
}

/** Products of formulas grow with each factor, so only few are multiplied out. */
function productOf(factors: readonly Node[]): Node {
  const matrices = factors.filter((each) => each.t === 'matrix');
  const numbers = matrices.every((each) => each.rows.every((row) => row.every((cell) => cell.t === 'num')));
  if (matrices.length > (numbers ? 50 : 3)) return unresolved({ t: 'mul', args: [] });
  return factors.reduce((a, b) => simplified(multiplied(a, b)));
}

function multiplied(a: Node, b: Node): Node {
  if (a.t !== 'matrix') return b.t === 'matrix' ? scaled(a, b.rows) : { t: 'mul', args: [a, b] };
  if (b.t !== 'matrix') return b.t === 'unit' ? a : scaled(b, a.rows);
  const inner = b.rows.length;
  if (a.rows[0]!.length !== inner || inner > maxSide || a.rows.length > maxSide)
    return unresolved({ t: 'mul', args: [] });
  const cell = (i: number, j: number): Node => ({
    t: 'add',
    args: b.rows.map((_, k): Node => ({ t: 'mul', args: [a.rows[i]![k]!, b.rows[k]![j]!] })),
  });
  return { t: 'matrix', rows: a.rows.map((_, i) => b.rows[0]!.map((_, j) => cell(i, j))) };
}

function raised(rows: Rows, node: Node & { t: 'pow' }): Node {
  const { right } = node;
  const transposed =
    (right.t === 'sym' && /^(?:T|t|\\top|\\intercal)$/.test(right.name)) ||
    (right.t === 'text' && right.text === 'T');
  if (transposed) return { t: 'matrix', rows: rows[0]!.map((_, j) => rows.map((row) => row[j]!)) };
  const exponent = exact(right);
  if (
    typeof exponent === 'string' ||
    exponent.den !== 1n ||
    rows.length !== rows[0]!.length ||
    rows.length > 3
  )
    return node;
  const n = Number(exponent.num);
  if (n === -1) return inverse(rows, node);
  return n < 1 || n > 50 ? node : productOf(Array.from({ length: n }, (): Node => ({ t: 'matrix', rows })));
}

/** Exact cells as numbers, so that repeated products stay small. */
function simplified(node: Node): Node {
  if (node.t !== 'matrix') return node;
  const cell = (each: Node): Node => {
    const value = exact(each);
    return typeof value === 'string' ? each : { t: 'num', value, digits: '' };
  };
  return { t: 'matrix', rows: node.rows.map((row) => row.map(cell)) };
}

function determinant(rows: Rows, otherwise: Node): Node {
  if (rows.length !== rows[0]!.length || rows.length > 4) return otherwise;
  if (rows.length === 1) return rows[0]![0]!;
  const terms = rows[0]!.map((cell, j): Node => {
    const product: Node = { t: 'mul', args: [cell, determinant(minor(rows, 0, j), otherwise)] };
    return j % 2 === 0 ? product : { t: 'neg', arg: product };
  });
  return { t: 'add', args: terms };
}

function minor(rows: Rows, i: number, j: number): Rows {
  return rows.filter((_, row) => row !== i).map((row) => row.filter((_, column) => column !== j));
}

function inverse(rows: Rows, otherwise: Node): Node {
  const below = determinant(rows, otherwise);
  if (rows.length === 1) return { t: 'matrix', rows: [[{ t: 'div', left: one, right: below }]] };
  const cell = (i: number, j: number): Node => {
    const cofactor = determinant(minor(rows, j, i), otherwise);
    const signed: Node = (i + j) % 2 === 0 ? cofactor : { t: 'neg', arg: cofactor };
    return { t: 'div', left: signed, right: below };
  };
  return { t: 'matrix', rows: rows.map((row, i) => row.map((_, j) => cell(i, j))) };
}
