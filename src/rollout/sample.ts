/** Samples groups of traces: one engine call, one random stream a (step, question occurrence, sample). */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import { FINISH, type Ragged, type SampleResult } from '../native/types.js';
import type { Group, Trajectory } from './trajectory.js';

export interface RolloutSettings {
  seed: bigint;
  purpose: number;
  /** Tokens a trace may have at most. */
  maxTokens: number;
  /** 0: greedy. */
  temperature: number;
  topP: number;
  topK: number;
  eosIds: readonly number[];
  /** A trace ends where a token ends exactly at this text; '' for none. */
  border: string;
  /** Ids forced behind a trace without border (tests and benches); empty for none. */
  forceBorder: Int32Array;
  stops: readonly string[];
  /** Sequences decoded together: memory, not results. */
  maxBatch: number;
}

export interface RolloutRequest {
  question: Question;
  occurrence: number;
  promptIds: Int32Array;
  patches: Int32Array[];
  samples: number;
  /** Index of the first sample in the question's stream; 0 unless a group is continued. */
  firstSample?: number;
}

export interface RolloutStats {
  prefillTokens: number;
  decodeTokens: number;
  continuationTokens: number;
  prefillSeconds: number;
  decodeSeconds: number;
  continuationSeconds: number;
}

/** Concatenates lists of ids. */
export function ragged(lists: readonly ArrayLike<number>[]): Ragged {
  const offsets = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => {
    offsets[i + 1] = offsets[i]! + list.length;
  });
  const ids = new Int32Array(offsets[lists.length]!);
  lists.forEach((list, i) => {
    ids.set(list, offsets[i]!);
  });
  return { ids, offsets };
}

/**
 * Samples `samples` traces for every request. A trace that stops at the border carries the log-probs of every patch,
 * teacher-forced on the cache it already has.
 * @param decode text of a trace's ids, for people and answer extraction only.
 */
export async function sampleGroups(
  policy: Policy,
  requests: readonly RolloutRequest[],
  settings: RolloutSettings,
  step: number,
  decode: (ids: Int32Array) => string,
): Promise<{ groups: Group[]; stats: RolloutStats }> {
  const encoder = new TextEncoder();
  const patchOffsets = new Int32Array(requests.length + 1);
  requests.forEach((request, i) => {
    patchOffsets[i + 1] = patchOffsets[i]! + request.patches.length;
  });
  const result = await policy.sample({
    prompts: ragged(requests.map((request) => request.promptIds)),
    samples: Int32Array.from(requests, (request) => request.samples),
    firstSample: Int32Array.from(requests, (request) => request.firstSample ?? 0),
    occurrences: Int32Array.from(requests, (request) => request.occurrence),
    stream: { seed: settings.seed, purpose: settings.purpose, step },
    maxTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    eosIds: Int32Array.from(settings.eosIds),
    border: encoder.encode(settings.border),
    forceBorder: settings.forceBorder,
    stops: settings.stops.map((stop) => encoder.encode(stop)),
    continuations: ragged(requests.flatMap((request) => request.patches)),
    continuationOffsets: patchOffsets,
    maxBatch: settings.maxBatch,
  });
  let trace = 0;
  const groups = requests.map((request) => {
    const traces: Trajectory[] = [];
    for (let i = 0; i < request.samples; i++)
      traces.push(trajectory(result, trace++, request.patches, decode));
    const { question, occurrence, promptIds, patches } = request;
    return { question, occurrence, promptIds, patches, traces };
  });
  const {
    prefillTokens,
    decodeTokens,
    continuationTokens,
    prefillSeconds,
    decodeSeconds,
    continuationSeconds,
  } = result;
  return {
    groups,
    stats: {
      prefillTokens,
      decodeTokens,
      continuationTokens,
      prefillSeconds,
      decodeSeconds,
      continuationSeconds,
    },
  };
}

function trajectory(
  result: SampleResult,
  index: number,
  patches: readonly Int32Array[],
  decode: (ids: Int32Array) => string,
): Trajectory {
  const from = result.tokens.offsets[index]!;
  const to = result.tokens.offsets[index + 1]!;
  const ids = result.tokens.ids.slice(from, to);
  const answerLogprobs: Float32Array[] = [];
  let at = result.continuationOffsets[index]!;
  if (result.continuationOffsets[index + 1]! > at) {
    for (const patch of patches) {
      answerLogprobs.push(result.continuationLogprobs.slice(at, at + patch.length));
      at += patch.length;
    }
  }
  return {
    ids,
    logprobs: result.logprobs.slice(from, to),
    finish: FINISH[result.finish[index]!]!,
    text: decode(ids),
    answerLogprobs,
  };
}
