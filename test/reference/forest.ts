/**
 * Span tokens of a packed forest, scored without any sharing: each segment that has spans is run as one plain sequence
 * from its root, so nothing here can agree with the engine's prefix sharing by sharing its mistakes.
 */

import type { PackedTree } from '../../src/native/types.js';
import { backwardSequence, entropyAt, logprobAt, runSequence } from './model.js';
import { type ReferenceModel, type Weights, zerosLike } from './parameters.js';

/** Ids from the root of `segment` to its end, and where the segment itself begins in them. */
export function pathOf(tree: PackedTree, segment: number): { tokens: number[]; begin: number } {
  const own = [...tree.tokens.ids.subarray(tree.tokens.offsets[segment]!, tree.tokens.offsets[segment + 1]!)];
  const parent = tree.parents[segment]!;
  const before = parent < 0 ? [] : pathOf(tree, parent).tokens;
  return { tokens: [...before, ...own], begin: before.length };
}

/** [spans + 1] where each span's tokens begin among all span tokens. */
export function spanTokenOffsets(spans: Int32Array): number[] {
  const offsets = [0];
  for (let s = 0; s < spans.length; s += 4) offsets.push(offsets.at(-1)! + spans[s + 2]! - spans[s + 1]!);
  return offsets;
}

/** The tokens to score in one segment: positions in its path and indices among the span tokens. */
interface SegmentWork {
  segment: number;
  positions: number[];
  rows: number[];
}

function workOf(tree: PackedTree, spans: Int32Array): SegmentWork[] {
  const offsets = spanTokenOffsets(spans);
  const bySegment = new Map<number, SegmentWork>();
  for (let s = 0; s < spans.length / 4; s++) {
    const [segment, start, end] = [spans[4 * s]!, spans[4 * s + 1]!, spans[4 * s + 2]!];
    const work = bySegment.get(segment) ?? { segment, positions: [], rows: [] };
    bySegment.set(segment, work);
    const { begin } = pathOf(tree, segment);
    for (let t = start; t < end; t++) {
      work.positions.push(begin + t);
      work.rows.push(offsets[s]! + t - start);
    }
  }
  return [...bySegment.values()];
}

/** Log-prob and entropy of every span token, in the order of spans. */
export function scoreForest(
  model: ReferenceModel,
  tree: PackedTree,
  spans: Int32Array,
  temperature: number,
): { logprobs: Float64Array; entropy: Float64Array } {
  const count = spanTokenOffsets(spans).at(-1)!;
  const result = { logprobs: new Float64Array(count), entropy: new Float64Array(count) };
  for (const { segment, positions, rows } of workOf(tree, spans)) {
    const pass = runSequence(model, pathOf(tree, segment).tokens, temperature);
    rows.forEach((row, i) => {
      result.logprobs[row] = logprobAt(model, pass, positions[i]!);
      result.entropy[row] = entropyAt(model, pass, positions[i]!);
    });
  }
  return result;
}

/** Gradient of sum_i weights[i] * logprob[i] over the span tokens, for every parameter. */
export function forestGradient(
  model: ReferenceModel,
  tree: PackedTree,
  spans: Int32Array,
  temperature: number,
  weights: ArrayLike<number>,
): Weights {
  const gradients = zerosLike(model.weights);
  for (const { segment, positions, rows } of workOf(tree, spans)) {
    const pass = runSequence(model, pathOf(tree, segment).tokens, temperature);
    backwardSequence(
      model,
      pass,
      positions,
      rows.map((row) => weights[row]!),
      gradients,
    );
  }
  return gradients;
}
