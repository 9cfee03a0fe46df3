/** Causal grouped-query attention over one plain sequence, forward and backward, in float64. */

export interface AttentionShape {
  rows: number;
  heads: number;
  kvHeads: number;
  headDim: number;
}

/** q [rows, heads, d], k and v [rows, kvHeads, d]; head h reads key head floor(h kvHeads / heads). probs [heads, rows, rows]. */
export function attention(
  shape: AttentionShape,
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
): { out: Float64Array; probs: Float64Array } {
  const { rows, heads, headDim: d } = shape;
  const out = new Float64Array(q.length);
  const probs = new Float64Array(heads * rows * rows);
  for (let h = 0; h < heads; h++)
    for (let r = 0; r < rows; r++) {
      const p = probs.subarray((h * rows + r) * rows, (h * rows + r + 1) * rows);
      const qAt = (r * heads + h) * d;
      let top = Number.NEGATIVE_INFINITY;
      for (let j = 0; j <= r; j++) {
        let score = 0;
        for (let c = 0; c < d; c++) score += q[qAt + c]! * k[keyAt(shape, j, h) + c]!;
        p[j] = score / Math.sqrt(d);
        top = Math.max(top, p[j]!);
      }
      let sum = 0;
      for (let j = 0; j <= r; j++) {
        p[j] = Math.exp(p[j]! - top);
        sum += p[j]!;
      }
      for (let j = 0; j <= r; j++) {
        p[j] = p[j]! / sum;
        for (let c = 0; c < d; c++) out[qAt + c] = out[qAt + c]! + p[j]! * v[keyAt(shape, j, h) + c]!;
      }
    }
  return { out, probs };
}

/** Gradients of q, k and v; with a = dout . v[j], the score's gradient is p_j (a_j - sum_i p_i a_i). */
export function attentionBackward(
  shape: AttentionShape,
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  probs: Float64Array,
  dout: Float64Array,
): { dq: Float64Array; dk: Float64Array; dv: Float64Array } {
  const { rows, heads, headDim: d } = shape;
  const dq = new Float64Array(q.length);
  const dk = new Float64Array(k.length);
  const dv = new Float64Array(v.length);
  for (let h = 0; h < heads; h++)
    for (let r = 0; r < rows; r++) {
      const qAt = (r * heads + h) * d;
      const p = probs.subarray((h * rows + r) * rows, (h * rows + r + 1) * rows);
      const a = new Float64Array(r + 1);
      let mean = 0;
      for (let j = 0; j <= r; j++) {
        const at = keyAt(shape, j, h);
        for (let c = 0; c < d; c++) {
          a[j] = a[j]! + dout[qAt + c]! * v[at + c]!;
          dv[at + c] = dv[at + c]! + p[j]! * dout[qAt + c]!;
        }
        mean += p[j]! * a[j]!;
      }
      for (let j = 0; j <= r; j++) {
        const at = keyAt(shape, j, h);
        const dscore = (p[j]! * (a[j]! - mean)) / Math.sqrt(d);
        for (let c = 0; c < d; c++) {
          dq[qAt + c] = dq[qAt + c]! + dscore * k[at + c]!;
          dk[at + c] = dk[at + c]! + dscore * q[qAt + c]!;
        }
      }
    }
  return { dq, dk, dv };
}

function keyAt(shape: AttentionShape, row: number, head: number): number {
  const group = shape.heads / shape.kvHeads;
  return (row * shape.kvHeads + Math.floor(head / group)) * shape.headDim;
}
