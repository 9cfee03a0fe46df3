/** The engine's part of a step: reference log-probs, old log-probs where they differ from the sampler's, then all updates. */

import type { Policy } from '../native/policy.js';
import type { StepArgs, StepResult } from '../native/types.js';

/** One engine step: reference and, where a step has several updates on a GPU, old log-probs are made before the first. */
export async function updateWeights(
  policy: Policy,
  reference: Policy | null,
  args: StepArgs,
): Promise<StepResult> {
  const { tree, spans, temperature, microBatchTokens } = args;
  const scored = { tree, spans, temperature, entropy: false, microBatchTokens };
  const refLogprobs =
    reference === null || args.klCoefficient === 0
      ? new Float32Array(0)
      : (await reference.score(scored)).logprobs;
  // A GPU's decoding and training passes differ in their last bits; the CPU's do not.
  if (policy.info.device === 'cpu' || args.epochs * args.miniBatches === 1) {
    return policy.step({ ...args, refLogprobs });
  }
  const { logprobs } = await policy.score(scored);
  const result = await policy.step({ ...args, refLogprobs, oldLogprobs: logprobs });
  return { ...result, ...mismatch(logprobs, args.oldLogprobs) };
}

/** How far the learner's log-probs are from the sampler's. */
function mismatch(
  learner: Float32Array,
  sampler: Float32Array,
): Pick<StepResult, 'mismatchMean' | 'mismatchMax'> {
  let sum = 0;
  let most = 0;
  for (let i = 0; i < learner.length; i++) {
    const difference = Math.abs(learner[i]! - sampler[i]!);
    sum += difference;
    most = Math.max(most, difference);
  }
  return { mismatchMean: sum / Math.max(1, learner.length), mismatchMax: most };
}

/** The result of a step whose plan kept no group: the weights stay as they are. */
export function nothingTrained(): StepResult {
  return {
    logReward: new Float32Array(0),
    reward: new Float32Array(0),
    advantage: new Float32Array(0),
    skipped: new Uint8Array(0),
    logprobs: new Float32Array(0),
    gradNorms: new Float64Array(0),
    weightedLogprob: 0,
    surrogate: 0,
    kl: 0,
    clipShare: 0,
    ratioMin: 1,
    ratioMax: 1,
    mismatchMean: 0,
    mismatchMax: 0,
    updates: 0,
    tokensComputed: 0,
    spanTokens: 0,
    seconds: 0,
  };
}
