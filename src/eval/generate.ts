/** Samples and judges the replies of a task in chunks; each reply is handed over as it arrives, and no chunk changes it. */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import { type RolloutSettings, sampleGroups } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { ReplyRow } from '../run/evaluation.js';
import { scoreConfidence } from './confidence.js';
import { REPLY } from './evaluate.js';
import { judgeReply } from './judge.js';
import type { Prepared } from './prepare.js';

export interface GenerateParts {
  task: string;
  policy: Policy;
  decode(ids: Int32Array): string;
  sampling: Omit<RolloutSettings, 'purpose' | 'border' | 'forceBorder' | 'maxTokens'>;
  samples: number;
  /** Occurrence number of the task's first question. */
  firstOccurrence: number;
  /** Text at which a trace ends for the confidence. */
  border: string;
  confidence: boolean;
  microBatchTokens: number;
  maxPositions: number;
  /** Replies sampled by one call; later ones wait. */
  chunk: number;
  /** Replies there are already: question index → how many, from sample 0. */
  done: ReadonlyMap<number, number>;
  stopRequested(): boolean;
}

/** What is left of a question. */
interface Left {
  prepared: Prepared;
  first: number;
  count: number;
}

/** All replies that are not there yet, by room, question and sample. */
export async function* generateReplies(
  parts: GenerateParts,
  prepared: readonly Prepared[],
): AsyncGenerator<ReplyRow[]> {
  const left = prepared
    .map((one) => {
      const first = Math.min(parts.samples, parts.done.get(one.index) ?? 0);
      return { prepared: one, first, count: parts.samples - first };
    })
    .filter(({ count }) => count > 0)
    // Only where the model's positions cut replies do rooms differ; equal ones are sampled together.
    .sort((a, b) => b.prepared.maxTokens - a.prepared.maxTokens);
  for (const batch of batches(left, parts.chunk)) {
    if (parts.stopRequested()) return;
    yield await sampleBatch(parts, batch);
  }
}

/** Consecutive questions with equal room for a reply, up to `chunk` replies. */
function* batches(left: readonly Left[], chunk: number): Generator<Left[]> {
  let batch: Left[] = [];
  let replies = 0;
  for (const one of left) {
    const other = batch[0] !== undefined && batch[0].prepared.maxTokens !== one.prepared.maxTokens;
    if (batch.length > 0 && (other || replies + one.count > chunk)) {
      yield batch;
      batch = [];
      replies = 0;
    }
    batch.push(one);
    replies += one.count;
  }
  if (batch.length > 0) yield batch;
}

async function sampleBatch(parts: GenerateParts, batch: readonly Left[]): Promise<ReplyRow[]> {
  const began = performance.now();
  const requests = batch.map(({ prepared, first, count }) => ({
    question: questionOf(prepared),
    occurrence: parts.firstOccurrence + prepared.index,
    promptIds: prepared.promptIds,
    patches: [],
    samples: count,
    firstSample: first,
  }));
  const { maxTokens } = batch[0]!.prepared;
  const settings = { ...parts.sampling, ...REPLY, maxTokens };
  const { groups } = await sampleGroups(parts.policy, requests, settings, 0, parts.decode);
  const confidence = await confidenceOf(parts, batch, groups);
  const count = groups.reduce((sum, group) => sum + group.traces.length, 0);
  const seconds = (performance.now() - began) / 1000 / count;
  let next = 0;
  return groups.flatMap((group, i) =>
    group.traces.map((trace, k): ReplyRow => {
      const { prepared, first } = batch[i]!;
      const { item } = prepared;
      const sample = first + k;
      return {
        v: 1,
        task: parts.task,
        index: prepared.index,
        id: item.id,
        sample,
        judge: item.judge,
        answers: item.answers,
        category: item.category,
        ...(item.options === undefined ? {} : { options: item.options }),
        ...(item.order === undefined ? {} : { order: item.order }),
        ...(item.groups === undefined ? {} : { groups: item.groups }),
        promptHash: prepared.promptHash,
        ...(sample === 0 ? { prompt: prepared.prompt } : {}),
        promptTokens: prepared.promptIds.length,
        shots: prepared.shots,
        maxTokens,
        seed: Number(parts.sampling.seed),
        ids: [...trace.ids],
        text: trace.text,
        finish: trace.finish,
        confidence: confidence[next++]!,
        seconds,
        ...judgeReply(item, trace.text),
      };
    }),
  );
}

async function confidenceOf(
  parts: GenerateParts,
  batch: readonly Left[],
  groups: readonly Group[],
): Promise<(number | null)[]> {
  const requests = groups.flatMap((group, i) =>
    group.traces.map((trace) => {
      const { promptIds, patches } = batch[i]!.prepared;
      return { promptIds, replyIds: trace.ids, patches };
    }),
  );
  return parts.confidence ? scoreConfidence(parts, requests) : requests.map(() => null);
}

function questionOf({ item, index }: Prepared): Question {
  const { id, question, answers, category } = item;
  return { id, question, answers, category, file: '', line: index + 1 };
}
