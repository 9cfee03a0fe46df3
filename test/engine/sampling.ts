/** Short forms of the engine's verbs for tests. */

import type { Policy } from '../../src/native/policy.js';
import type { SampleArgs, SampleResult, StepArgs } from '../../src/native/types.js';
import { ragged } from '../../src/rollout/sample.js';
import { PLAIN_STEP } from '../reference/groups.js';

/** Greedy or sampled traces of prompts with everything else off. */
export function sampleArgs(
  prompts: readonly ArrayLike<number>[],
  changes: Partial<SampleArgs> = {},
): SampleArgs {
  return {
    prompts: ragged(prompts),
    samples: new Int32Array(prompts.length).fill(1),
    firstSample: new Int32Array(prompts.length),
    occurrences: Int32Array.from(prompts, (_, i) => i),
    stream: { seed: 7n, purpose: 0, step: 1 },
    maxTokens: 24,
    temperature: 1,
    topP: 1,
    topK: 0,
    eosIds: new Int32Array(0),
    border: new Uint8Array(0),
    forceBorder: new Int32Array(0),
    stops: [],
    continuations: ragged([]),
    continuationOffsets: new Int32Array(0),
    maxBatch: 64,
    ...changes,
  };
}

/** The traces of a result as plain arrays. */
export function tracesOf({ tokens, logprobs }: SampleResult): { ids: number[]; logprobs: Float32Array }[] {
  return Array.from({ length: tokens.offsets.length - 1 }, (_, i) => ({
    ids: [...tokens.ids.subarray(tokens.offsets[i]!, tokens.offsets[i + 1]!)],
    logprobs: logprobs.slice(tokens.offsets[i]!, tokens.offsets[i + 1]!),
  }));
}

/** The 32 bits of every number: equal only when the floats are the same to the bit. */
export function bits(values: Float32Array): number[] {
  return [...new Uint32Array(values.buffer, values.byteOffset, values.length)];
}

/** Log-probs of `ids[from…]` after the ids before them, by the scoring pass. */
export async function scored(policy: Policy, ids: ArrayLike<number>, from: number): Promise<Float32Array> {
  const result = await policy.score({
    tree: { tokens: ragged([ids]), parents: Int32Array.of(-1) },
    spans: Int32Array.of(0, from, ids.length, 0),
    temperature: 1,
    entropy: false,
    microBatchTokens: 4096,
  });
  return result.logprobs;
}

/** A step that only makes gradients: plain weights 1 on the given spans. */
export function gradientOnly(changes: Pick<StepArgs, 'tree' | 'spans'> & Partial<StepArgs>): StepArgs {
  const spans = changes.spans.length / 4;
  return {
    ...PLAIN_STEP,
    spanTrace: Int32Array.from({ length: spans }, (_, i) => i),
    groupOffsets: Int32Array.of(0, spans),
    continuationOffsets: new Int32Array(spans + 1),
    answerOffsets: Int32Array.of(0),
    answerLogprobs: new Float32Array(0),
    given: new Float32Array(0),
    spanWeights: new Float32Array(spans).fill(1),
    oldLogprobs: new Float32Array(0),
    refLogprobs: new Float32Array(0),
    update: false,
    ...changes,
  };
}
