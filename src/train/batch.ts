/** Packs groups for the engine's `step`: a prompt stands once for its traces, a trace once for its answers. */

import { type PackedTree, SPAN_ROLE, type StepArgs } from '../native/types.js';
import { ragged } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';

/** The parts of StepArgs that come from the groups. */
export type GroupBatch = Pick<
  StepArgs,
  | 'tree'
  | 'spans'
  | 'spanTrace'
  | 'groupOffsets'
  | 'continuationOffsets'
  | 'answerOffsets'
  | 'answerLogprobs'
  | 'oldLogprobs'
>;

/**
 * Groups as a forest: prompt → traces → patched answers. Old log-probs are the sampler's, one a span token.
 * @param sharePrefix false gives every trace a copy of its prompt (the same numbers, more tokens).
 */
export function packGroups(groups: readonly Group[], sharePrefix = true): GroupBatch {
  const segments: ArrayLike<number>[] = [];
  const parents: number[] = [];
  const spans: number[] = [];
  const spanTrace: number[] = [];
  const old: Float32Array[] = [];
  const answers: Float32Array[] = [];
  const groupOffsets = [0];
  const continuationOffsets = [0];
  const answerOffsets = [0];
  const add = (ids: ArrayLike<number>, parent: number) => {
    segments.push(ids);
    parents.push(parent);
    return segments.length - 1;
  };
  let trace = 0;
  for (const group of groups) {
    let root = sharePrefix ? add(group.promptIds, -1) : -1;
    for (const { ids, logprobs, answerLogprobs } of group.traces) {
      if (!sharePrefix) root = add(group.promptIds, -1);
      const body = add(ids, root);
      spans.push(body, 0, ids.length, SPAN_ROLE.reasoning);
      spanTrace.push(trace);
      old.push(logprobs);
      answerLogprobs.forEach((answer, c) => {
        spans.push(add(group.patches[c]!, body), 0, answer.length, SPAN_ROLE.answer);
        spanTrace.push(trace);
        old.push(answer);
        answers.push(answer);
        answerOffsets.push(answerOffsets[answerOffsets.length - 1]! + answer.length);
      });
      continuationOffsets.push(continuationOffsets[trace]! + answerLogprobs.length);
      trace++;
    }
    groupOffsets.push(trace);
  }
  return {
    tree: { tokens: ragged(segments), parents: Int32Array.from(parents) },
    spans: Int32Array.from(spans),
    spanTrace: Int32Array.from(spanTrace),
    groupOffsets: Int32Array.from(groupOffsets),
    continuationOffsets: Int32Array.from(continuationOffsets),
    answerOffsets: Int32Array.from(answerOffsets),
    answerLogprobs: concatenate(answers),
    oldLogprobs: concatenate(old),
  };
}

/** One supervised row: the loss is on the completion, and on the prompt too when `wholeRow`. */
export interface SupervisedRow {
  promptIds: Int32Array;
  completionIds: Int32Array;
}

/** Supervised rows as a batch of plain weights 1 (the engine divides by the number of span tokens). */
export function packRows(
  rows: readonly SupervisedRow[],
  wholeRow: boolean,
): GroupBatch & Pick<StepArgs, 'spanWeights'> {
  const segments = rows.map(({ promptIds, completionIds }) => {
    const ids = new Int32Array(promptIds.length + completionIds.length);
    ids.set(promptIds);
    ids.set(completionIds, promptIds.length);
    return ids;
  });
  const spans = rows.flatMap((row, i) => [
    i,
    wholeRow ? 1 : Math.max(1, row.promptIds.length),
    segments[i]!.length,
    SPAN_ROLE.reasoning,
  ]);
  const tree: PackedTree = { tokens: ragged(segments), parents: new Int32Array(rows.length).fill(-1) };
  return {
    tree,
    spans: Int32Array.from(spans),
    spanTrace: Int32Array.from(rows.keys()),
    groupOffsets: Int32Array.from({ length: rows.length + 1 }, (_, i) => i),
    continuationOffsets: new Int32Array(rows.length + 1),
    answerOffsets: new Int32Array(1),
    answerLogprobs: new Float32Array(0),
    oldLogprobs: new Float32Array(0),
    spanWeights: new Float32Array(rows.length).fill(1),
  };
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
