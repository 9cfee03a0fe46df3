/** RMSNorm over rows of `weight.length` numbers, forward and backward, in float64 (also the norm of q and k heads). */

/** y = x / sqrt(mean(x^2) + eps) * weight, a row at a time. */
export function rmsNorm(x: Float64Array, weight: Float64Array, eps: number): Float64Array {
  const width = weight.length;
  const y = new Float64Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    const scale = 1 / Math.sqrt(meanSquare(x, at, width) + eps);
    for (let c = 0; c < width; c++) y[at + c] = x[at + c]! * scale * weight[c]!;
  }
  return y;
}

/** With n = x s, s = (mean(x^2) + eps)^-1/2 and u = dy weight: dx = s (u - n mean(u n)), dweight = sum over rows of dy n. */
export function rmsNormBackward(
  x: Float64Array,
  weight: Float64Array,
  eps: number,
  dy: Float64Array,
): { dx: Float64Array; dweight: Float64Array } {
  const width = weight.length;
  const dx = new Float64Array(x.length);
  const dweight = new Float64Array(width);
  for (let at = 0; at < x.length; at += width) {
    const scale = 1 / Math.sqrt(meanSquare(x, at, width) + eps);
    let mean = 0;
    for (let c = 0; c < width; c++) mean += (dy[at + c]! * weight[c]! * x[at + c]! * scale) / width;
    for (let c = 0; c < width; c++) {
      const normed = x[at + c]! * scale;
      dx[at + c] = scale * (dy[at + c]! * weight[c]! - normed * mean);
      dweight[c] = dweight[c]! + dy[at + c]! * normed;
    }
  }
  return { dx, dweight };
}

function meanSquare(x: Float64Array, at: number, width: number): number {
  let sum = 0;
  for (let c = 0; c < width; c++) sum += x[at + c]! ** 2;
  return sum / width;
}
