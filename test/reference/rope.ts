/** Rotary position embedding (Su et al. 2021) on the two halves of a head, with the scalings that Llama uses. */

import type { ModelSpec } from '../../src/native/types.js';

/** [headDim / 2] angle per position of each pair, scaling applied. */
export function ropeFrequencies(
  spec: Pick<ModelSpec, 'headDim' | 'ropeTheta' | 'ropeScaling'>,
): Float64Array {
  const scaling = spec.ropeScaling;
  return Float64Array.from({ length: spec.headDim / 2 }, (_, i) => {
    const plain = spec.ropeTheta ** ((-2 * i) / spec.headDim);
    if (scaling.kind === 'none') return plain;
    if (scaling.kind === 'linear') return plain / scaling.factor;
    const turns = (scaling.originalPositions * plain) / (2 * Math.PI);
    if (turns > scaling.highFreqFactor) return plain;
    if (turns < scaling.lowFreqFactor) return plain / scaling.factor;
    const keep = (turns - scaling.lowFreqFactor) / (scaling.highFreqFactor - scaling.lowFreqFactor);
    return keep * plain + ((1 - keep) * plain) / scaling.factor;
  });
}

/**
 * Turns every pair (x[i], x[i + d/2]) of every head by position * frequency[i]; x is [rows, heads, d], row r stands at
 * position r. `direction` -1 turns back, which is also the backward pass.
 */
export function rotate(
  x: Float64Array,
  rows: number,
  frequencies: Float64Array,
  direction: 1 | -1,
): Float64Array {
  const half = frequencies.length;
  const width = x.length / rows;
  const y = new Float64Array(x.length);
  for (let r = 0; r < rows; r++)
    for (let head = r * width; head < (r + 1) * width; head += 2 * half)
      for (let i = 0; i < half; i++) {
        const angle = direction * r * frequencies[i]!;
        const a = x[head + i]!;
        const b = x[head + half + i]!;
        y[head + i] = a * Math.cos(angle) - b * Math.sin(angle);
        y[head + half + i] = b * Math.cos(angle) + a * Math.sin(angle);
      }
  return y;
}
