/** How far two arrays of numbers are apart, and gradients by finite differences. */

/** Sum of squared differences over the sum of squares of `expected` (NaN stays NaN; 0 when both are all zero). */
export function nmse(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.NaN;
  let error = 0;
  let size = 0;
  for (let i = 0; i < expected.length; i++) {
    error += (actual[i]! - expected[i]!) ** 2;
    size += expected[i]! ** 2;
  }
  return error === 0 ? 0 : error / size;
}

/** |actual - expected| / |expected| over all tensors at once. Both must have the same names. */
export function relativeError(
  actual: ReadonlyMap<string, ArrayLike<number>>,
  expected: ReadonlyMap<string, ArrayLike<number>>,
): number {
  if (actual.size !== expected.size) return Number.NaN;
  let error = 0;
  let size = 0;
  for (const [name, tensor] of expected) {
    const other = actual.get(name);
    if (other?.length !== tensor.length) return Number.NaN;
    for (let i = 0; i < tensor.length; i++) {
      error += (other[i]! - tensor[i]!) ** 2;
      size += tensor[i]! ** 2;
    }
  }
  return error === 0 ? 0 : Math.sqrt(error / size);
}

/** d f / d x by central differences; `x` is moved in place and put back. */
export function differences(f: () => number, x: Float64Array, step = 1e-5): Float64Array {
  return x.map((value, i) => {
    x[i] = value + step;
    const above = f();
    x[i] = value - step;
    const below = f();
    x[i] = value;
    return (above - below) / (2 * step);
  });
}

/** Sum of a[i] b[i]. */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** target += scale * source. */
export function addTo(target: Float64Array, source: ArrayLike<number>, scale = 1): void {
  for (let i = 0; i < target.length; i++) target[i] = target[i]! + scale * source[i]!;
}
