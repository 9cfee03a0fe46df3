/** What `vf bench` times: a training step, decoding, and a whole VeriFree step, on a model with random weights. */

import type { Policy } from '../native/policy.js';
import type { LoadArgs, ModelSpec } from '../native/types.js';
import { verifree } from '../objective/verifree.js';
import { PURPOSE, uniformAt } from '../random.js';
import { type RolloutSettings, type RolloutStats, ragged, sampleGroups } from '../rollout/sample.js';
import { stepArgs } from '../train/loop.js';
import { supervisedArgs } from '../train/supervised.js';
import { DEFAULT_MICRO_BATCH } from './batch-sizes.js';

/** Lengths in tokens; they stand in every record. */
export const TRAIN_SIZES = { rows: 16, tokens: 256 } as const;
export const DECODE_SIZES = { batches: [1, 16, 64], prompt: 32, newTokens: 96 } as const;
export const STEP_SIZES = { questions: 4, group: 8, prompt: 64, trace: 128, patch: 12 } as const;

/** AdamW's settings in the training benchmark, ours and the peer's. */
export const TRAIN_OPTIMIZER = { lr: 1e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0.01 } as const;

/** Two ids at the end of the vocabulary spell the border; every other token is one letter. */
const BORDER = ['<', 'answer'] as const;

/** Token bytes for a model without tokenizer. */
export function benchVocabulary(
  spec: ModelSpec,
): Pick<LoadArgs, 'tokenBytes' | 'tokenOffsets' | 'usableVocab'> {
  const texts = Array.from({ length: spec.vocab }, (_, id) => BORDER[id - spec.vocab + BORDER.length] ?? 'x');
  const tokenOffsets = new Int32Array(spec.vocab + 1);
  texts.forEach((text, id) => {
    tokenOffsets[id + 1] = tokenOffsets[id]! + text.length;
  });
  return { tokenBytes: new TextEncoder().encode(texts.join('')), tokenOffsets, usableVocab: spec.vocab };
}

/** `count` rows of `length` seeded ids; another `set` gives other rows. */
export function randomRows(
  spec: ModelSpec,
  seed: number,
  set: number,
  count: number,
  length: number,
): Int32Array[] {
  return Array.from({ length: count }, (_, row) => {
    const stream = { seed, purpose: PURPOSE.order, step: 0, occurrence: set, sample: row };
    return Int32Array.from({ length }, (_, i) => Math.floor(uniformAt(stream, i) * spec.vocab));
  });
}

/** One step (forward, cross-entropy of every token but the first, backward, AdamW); its loss before the update. */
export async function trainOnce(
  policy: Policy,
  rows: readonly Int32Array[],
  updatesDone: number,
  update: boolean,
): Promise<{ seconds: number; loss: number; tokensComputed: number }> {
  const started = performance.now();
  const result = await policy.step(
    supervisedArgs(
      rows.map((completionIds) => ({ promptIds: new Int32Array(0), completionIds })),
      {
        wholeRow: true,
        update,
        microBatchTokens: DEFAULT_MICRO_BATCH,
        recompute: false,
        optimizer: { ...TRAIN_OPTIMIZER, clipNorm: 0, updatesDone },
      },
    ),
  );
  const { tokensComputed, weightedLogprob } = result;
  return { seconds: (performance.now() - started) / 1000, loss: -weightedLogprob, tokensComputed };
}

const NO_STOPS = { topP: 1, topK: 0, eosIds: [], stops: [] } as const;

/** Greedy decoding of `prompts` together; seconds without the prefill. */
export async function decodeOnce(
  policy: Policy,
  prompts: readonly Int32Array[],
  newTokens: number,
): Promise<{ seconds: number; tokens: number[][] }> {
  const count = prompts.length;
  const result = await policy.sample({
    ...NO_STOPS,
    prompts: ragged(prompts),
    samples: new Int32Array(count).fill(1),
    firstSample: new Int32Array(count),
    occurrences: Int32Array.from({ length: count }, (_, i) => i),
    stream: { seed: 0n, purpose: PURPOSE.evaluation, step: 0 },
    maxTokens: newTokens,
    temperature: 0,
    eosIds: new Int32Array(0),
    border: new Uint8Array(0),
    forceBorder: new Int32Array(0),
    stops: [],
    continuations: ragged([]),
    continuationOffsets: new Int32Array(count + 1),
    maxBatch: count,
  });
  const { ids, offsets } = result.tokens;
  const tokens = prompts.map((_, i) => [...ids.subarray(offsets[i]!, offsets[i + 1]!)]);
  return { seconds: result.decodeSeconds, tokens };
}

export interface StepTimes {
  stats: RolloutStats;
  trainSeconds: number;
  trainTokens: number;
  seconds: number;
}

/** One VeriFree step with forced borders and reward logp (random weights give every answer probability 0 in f32). */
export async function verifreeOnce(
  policy: Policy,
  spec: ModelSpec,
  seed: number,
  step: number,
): Promise<StepTimes> {
  const started = performance.now();
  const { questions, group, prompt, trace, patch } = STEP_SIZES;
  const forceBorder = Int32Array.from(BORDER, (_, i) => spec.vocab - BORDER.length + i);
  const settings: RolloutSettings = {
    ...NO_STOPS,
    seed: BigInt(seed),
    purpose: PURPOSE.policy,
    maxTokens: trace - forceBorder.length,
    temperature: 1,
    border: BORDER.join(''),
    forceBorder,
    maxBatch: questions * group,
  };
  const prompts = randomRows(spec, seed, 2 * step, questions, prompt);
  const patches = randomRows(spec, seed, 2 * step + 1, questions, patch);
  const requests = prompts.map((promptIds, i) => {
    const question = { id: `${i}`, question: '', answers: [''], category: '', file: '', line: 0 };
    return { question, occurrence: i, promptIds, patches: [patches[i]!], samples: group };
  });
  const { groups, stats } = await sampleGroups(policy, requests, settings, step, () => '');
  const objective = verifree({
    groupSize: group,
    reward: 'logp',
    rewardExponent: 1,
    advantage: 'rloo',
    answerWeight: 'exact',
    lengthDivisor: 1,
    epochs: 1,
    miniBatches: 1,
    clip: -1,
    tisCap: 0,
    kl: 0,
  });
  const args = stepArgs(
    {
      schedule: { kind: 'constant', lr: TRAIN_OPTIMIZER.lr, warmupSteps: 0, totalSteps: 1, floor: 0 },
      optimizer: { ...TRAIN_OPTIMIZER, clipNorm: 1 },
      rollout: settings,
      microBatchTokens: DEFAULT_MICRO_BATCH,
      recompute: false,
    },
    await objective.plan(groups, step),
    step,
    step - 1,
  );
  const result = await policy.step(args);
  return {
    stats,
    trainSeconds: result.seconds,
    trainTokens: result.tokensComputed,
    seconds: (performance.now() - started) / 1000,
  };
}
