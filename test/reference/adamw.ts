/** AdamW with decoupled decay (Loshchilov & Hutter 2019) and clipping by the global norm, in float64. */

import type { OptimizerArgs } from '../../src/native/types.js';
import { tensorOf, type Weights, zerosLike } from './parameters.js';

export interface Moments {
  m: Weights;
  v: Weights;
}

/** Moments before the first update. */
export function noMoments(weights: Weights): Moments {
  return { m: zerosLike(weights), v: zerosLike(weights) };
}

/** Root of the sum of squares over all tensors. */
export function globalNorm(gradients: Weights): number {
  let sum = 0;
  for (const tensor of gradients.values()) for (const g of tensor) sum += g * g;
  return Math.sqrt(sum);
}

/** One update in place; `updatesDone` counts those before it. Returns the norm before clipping. */
export function adamW(
  weights: Weights,
  gradients: Weights,
  moments: Moments,
  options: OptimizerArgs,
  updatesDone: number,
): number {
  const norm = globalNorm(gradients);
  const scale = options.clipNorm > 0 && norm > options.clipNorm ? options.clipNorm / norm : 1;
  const bias1 = 1 - options.beta1 ** (updatesDone + 1);
  const bias2 = 1 - options.beta2 ** (updatesDone + 1);
  for (const [name, weight] of weights) {
    const gradient = tensorOf(gradients, name);
    const m = tensorOf(moments.m, name);
    const v = tensorOf(moments.v, name);
    for (let i = 0; i < weight.length; i++) {
      const g = gradient[i]! * scale;
      m[i] = options.beta1 * m[i]! + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i]! + (1 - options.beta2) * g * g;
      const decayed = weight[i]! * (1 - options.lr * options.weightDecay);
      weight[i] = decayed - (options.lr * (m[i]! / bias1)) / (Math.sqrt(v[i]! / bias2) + options.eps);
    }
  }
  return norm;
}
