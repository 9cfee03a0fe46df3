/** Embedding rows and the linear map, forward and backward, in float64. Matrices are row-major. */

/** y[r] = table[ids[r]]; table [vocab, hidden]. */
export function embed(ids: ArrayLike<number>, table: Float64Array, hidden: number): Float64Array {
  const y = new Float64Array(ids.length * hidden);
  for (let r = 0; r < ids.length; r++)
    y.set(table.subarray(ids[r]! * hidden, (ids[r]! + 1) * hidden), r * hidden);
  return y;
}

/** dtable[ids[r]] += dy[r]. */
export function embedBackward(
  ids: ArrayLike<number>,
  dy: Float64Array,
  dtable: Float64Array,
  hidden: number,
): void {
  for (let r = 0; r < ids.length; r++)
    for (let c = 0; c < hidden; c++) {
      const at = ids[r]! * hidden + c;
      dtable[at] = dtable[at]! + dy[r * hidden + c]!;
    }
}

export interface LinearShape {
  rows: number;
  in: number;
  out: number;
}

/** y = x w^T + bias; x [rows, in], w [out, in], y [rows, out]. */
export function linear(
  shape: LinearShape,
  x: Float64Array,
  w: Float64Array,
  bias?: Float64Array | undefined,
): Float64Array {
  const y = new Float64Array(shape.rows * shape.out);
  for (let r = 0; r < shape.rows; r++)
    for (let o = 0; o < shape.out; o++) {
      let sum = bias?.[o] ?? 0;
      for (let i = 0; i < shape.in; i++) sum += x[r * shape.in + i]! * w[o * shape.in + i]!;
      y[r * shape.out + o] = sum;
    }
  return y;
}

/** dx = dy w, dw = dy^T x, dbias = column sums of dy. */
export function linearBackward(
  shape: LinearShape,
  x: Float64Array,
  w: Float64Array,
  dy: Float64Array,
): { dx: Float64Array; dw: Float64Array; dbias: Float64Array } {
  const dx = new Float64Array(shape.rows * shape.in);
  const dw = new Float64Array(shape.out * shape.in);
  const dbias = new Float64Array(shape.out);
  for (let r = 0; r < shape.rows; r++)
    for (let o = 0; o < shape.out; o++) {
      const g = dy[r * shape.out + o]!;
      dbias[o] = dbias[o]! + g;
      for (let i = 0; i < shape.in; i++) {
        dx[r * shape.in + i] = dx[r * shape.in + i]! + g * w[o * shape.in + i]!;
        dw[o * shape.in + i] = dw[o * shape.in + i]! + g * x[r * shape.in + i]!;
      }
    }
  return { dx, dw, dbias };
}
