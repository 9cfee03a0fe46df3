/** StepArgs from groups of prompts, traces and continuations: as shared trees, or with every sequence apart. */

import { type PackedTree, SPAN_ROLE, type StepArgs } from '../../src/native/types.js';
import { spanTokenOffsets } from './forest.js';
import type { Seeded } from './seeded.js';

export interface SketchTrace {
  /** The sampled ids. */
  tokens: number[];
  /** Ids after the trace that no span covers (a border that was forced); empty: none. */
  forced?: number[];
  /** Patched answers; none: the trace has no border. */
  continuations: number[][];
}

export interface SketchGroup {
  prompt: number[];
  traces: SketchTrace[];
}

/** Everything of StepArgs that does not come from the groups; VeriFree's defaults without an update. */
export const PLAIN_STEP = {
  given: new Float32Array(0),
  spanWeights: new Float32Array(0),
  oldLogprobs: new Float32Array(0),
  refLogprobs: new Float32Array(0),
  reward: 'p',
  rewardExponent: 1,
  advantage: 'rloo',
  answerWeight: 'exact',
  lengthDivisor: 1,
  normalize: 'traces',
  terms: 'both',
  temperature: 1,
  clipLow: -1,
  clipHigh: -1,
  dualClip: 0,
  klCoefficient: 0,
  tisCap: 0,
  epochs: 1,
  miniBatches: 1,
  update: false,
  microBatchTokens: 1 << 20,
  recompute: false,
  optimizer: { lr: 1e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, clipNorm: 0, updatesDone: 0 },
} as const satisfies Partial<StepArgs>;

interface Builder {
  ids: number[];
  offsets: number[];
  parents: number[];
  spans: number[];
  spanTrace: number[];
}

function addSegment(to: Builder, tokens: readonly number[], parent: number): number {
  to.ids.push(...tokens);
  to.offsets.push(to.ids.length);
  return to.parents.push(parent) - 1;
}

function addSpan(
  to: Builder,
  trace: number,
  segment: number,
  start: number,
  length: number,
  role: number,
): void {
  to.spans.push(segment, start, start + length, role);
  to.spanTrace.push(trace);
}

/** Shared: prompt, its traces below it, their continuations below them. Apart: a root for every scored sequence. */
export function stepOf(groups: readonly SketchGroup[], layout: 'shared' | 'apart' = 'shared'): StepArgs {
  const to: Builder = { ids: [], offsets: [0], parents: [], spans: [], spanTrace: [] };
  const groupOffsets = [0];
  const continuationOffsets = [0];
  const answerOffsets = [0];
  let trace = 0;
  for (const group of groups) {
    const prompt = layout === 'shared' ? addSegment(to, group.prompt, -1) : -1;
    for (const { tokens, forced = [], continuations } of group.traces) {
      const whole = [...tokens, ...forced];
      const before = layout === 'shared' ? [] : group.prompt;
      const segment = addSegment(to, [...before, ...whole], prompt);
      addSpan(to, trace, segment, before.length, tokens.length, SPAN_ROLE.reasoning);
      for (const ids of continuations) {
        const prefix = layout === 'shared' ? [] : [...group.prompt, ...whole];
        const answer = addSegment(to, [...prefix, ...ids], layout === 'shared' ? segment : -1);
        addSpan(to, trace, answer, prefix.length, ids.length, SPAN_ROLE.answer);
        answerOffsets.push(answerOffsets.at(-1)! + ids.length);
      }
      continuationOffsets.push(answerOffsets.length - 1);
      trace++;
    }
    groupOffsets.push(trace);
  }
  const tree: PackedTree = {
    tokens: { ids: Int32Array.from(to.ids), offsets: Int32Array.from(to.offsets) },
    parents: Int32Array.from(to.parents),
  };
  return {
    ...PLAIN_STEP,
    tree,
    spans: Int32Array.from(to.spans),
    spanTrace: Int32Array.from(to.spanTrace),
    groupOffsets: Int32Array.from(groupOffsets),
    continuationOffsets: Int32Array.from(continuationOffsets),
    answerOffsets: Int32Array.from(answerOffsets),
    answerLogprobs: new Float32Array(answerOffsets.at(-1)!),
  };
}

/** The log-probs of the answer tokens among those of all span tokens: what `sample` returns for the continuations. */
export function answersAmong(args: StepArgs, logprobs: ArrayLike<number>): Float32Array {
  const offsets = spanTokenOffsets(args.spans);
  const answers: number[] = [];
  for (let s = 0; s < args.spanTrace.length; s++)
    if (args.spans[4 * s + 3] === SPAN_ROLE.answer)
      for (let row = offsets[s]!; row < offsets[s + 1]!; row++) answers.push(logprobs[row]!);
  return Float32Array.from(answers);
}

/** Ragged random groups: prompts of 1 to 19 ids, 3 traces of 1 to 24 (past two KV blocks), each with 0 to 2 continuations of 1 to 4. */
export function randomGroups(random: Seeded, vocab: number, count: number): SketchGroup[] {
  const ids = (low: number, high: number) =>
    Array.from({ length: random.integer(low, high) }, () => random.integer(0, vocab - 1));
  return Array.from({ length: count }, () => ({
    prompt: ids(1, 19),
    traces: Array.from({ length: 3 }, (_, i) => ({
      tokens: ids(1, 24),
      // The first trace of a group always reaches its border, so that logp skips none.
      continuations: Array.from({ length: i === 0 ? 1 : random.integer(0, 2) }, () => ids(1, 4)),
    })),
  }));
}
