/** Log-probability and entropy of one token under the LM head at a temperature, and the gradient, in float64. */

import { dot } from './compare.js';

/** [vocab] log-softmax of x . head[v] / temperature over the first `vocab` rows of the head. */
export function logSoftmax(
  x: Float64Array,
  head: Float64Array,
  vocab: number,
  temperature: number,
): Float64Array {
  const hidden = x.length;
  const logits = Float64Array.from(
    { length: vocab },
    (_, v) => dot(x, head.subarray(v * hidden, (v + 1) * hidden)) / temperature,
  );
  const top = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const lse = top + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0));
  return logits.map((logit) => logit - lse);
}

/** -sum p log p of a log-softmax. */
export function entropyOf(logSoftmaxed: Float64Array): number {
  return -logSoftmaxed.reduce((sum, lp) => sum + Math.exp(lp) * lp, 0);
}

/** Adds the gradient of weight * logprob(target): (1[v = target] - p_v) weight / temperature, through x and the head. */
export function logprobBackward(args: {
  x: Float64Array;
  head: Float64Array;
  /** As `logSoftmax` gave it. */
  logSoftmaxed: Float64Array;
  target: number;
  weight: number;
  temperature: number;
  dx: Float64Array;
  dhead: Float64Array;
}): void {
  const hidden = args.x.length;
  for (let v = 0; v < args.logSoftmaxed.length; v++) {
    const indicator = v === args.target ? 1 : 0;
    const g = ((indicator - Math.exp(args.logSoftmaxed[v]!)) * args.weight) / args.temperature;
    for (let c = 0; c < hidden; c++) {
      const at = v * hidden + c;
      args.dx[c] = args.dx[c]! + g * args.head[at]!;
      args.dhead[at] = args.dhead[at]! + g * args.x[c]!;
    }
  }
}
