/** The whole transformer over one plain sequence: log-probs of its tokens and the gradient of a weighted sum of them. */

import { addTo } from './compare.js';
import { type LayerTape, layerBackward, layerForward } from './layer.js';
import { embed, embedBackward } from './linear.js';
import { entropyOf, logprobBackward, logSoftmax } from './logprob.js';
import { type ReferenceModel, tensorOf, type Weights } from './parameters.js';
import { rmsNorm, rmsNormBackward } from './rms-norm.js';

const EMBEDDING = 'model.embed_tokens.weight';
const FINAL_NORM = 'model.norm.weight';

export interface SequencePass {
  tokens: ArrayLike<number>;
  temperature: number;
  tapes: LayerTape[];
  /** Input of the final norm and its output, [rows, hidden]. */
  last: Float64Array;
  final: Float64Array;
}

/** Runs the layers over `tokens`, which stand at positions 0, 1, …. */
export function runSequence(
  model: ReferenceModel,
  tokens: ArrayLike<number>,
  temperature: number,
): SequencePass {
  const { spec, weights } = model;
  let x = embed(tokens, tensorOf(weights, EMBEDDING), spec.hidden);
  const tapes: LayerTape[] = [];
  for (let i = 0; i < spec.layers; i++) {
    const { y, tape } = layerForward(spec, weights, i, x);
    tapes.push(tape);
    x = y;
  }
  return {
    tokens,
    temperature,
    tapes,
    last: x,
    final: rmsNorm(x, tensorOf(weights, FINAL_NORM), spec.rmsEps),
  };
}

/** [usableVocab] log-probs of the token at `position` (1 or later), given those before it. */
export function distributionAt(model: ReferenceModel, pass: SequencePass, position: number): Float64Array {
  const { hidden } = model.spec;
  const x = pass.final.subarray((position - 1) * hidden, position * hidden);
  return logSoftmax(x, tensorOf(model.weights, headName(model)), model.usableVocab, pass.temperature);
}

/** Log-prob of the token that stands at `position`. */
export function logprobAt(model: ReferenceModel, pass: SequencePass, position: number): number {
  return distributionAt(model, pass, position)[pass.tokens[position]!]!;
}

/** Entropy of the distribution at `position`. */
export function entropyAt(model: ReferenceModel, pass: SequencePass, position: number): number {
  return entropyOf(distributionAt(model, pass, position));
}

/** Adds the gradient of sum_i weights[i] * logprob(positions[i]) to `gradients`. */
export function backwardSequence(
  model: ReferenceModel,
  pass: SequencePass,
  positions: readonly number[],
  weights: readonly number[],
  gradients: Weights,
): void {
  const { spec } = model;
  const dfinal = new Float64Array(pass.final.length);
  positions.forEach((position, i) => {
    const from = (position - 1) * spec.hidden;
    logprobBackward({
      x: pass.final.subarray(from, from + spec.hidden),
      head: tensorOf(model.weights, headName(model)),
      logSoftmaxed: distributionAt(model, pass, position),
      target: pass.tokens[position]!,
      weight: weights[i]!,
      temperature: pass.temperature,
      dx: dfinal.subarray(from, from + spec.hidden),
      dhead: tensorOf(gradients, headName(model)),
    });
  });
  const norm = rmsNormBackward(pass.last, tensorOf(model.weights, FINAL_NORM), spec.rmsEps, dfinal);
  addTo(tensorOf(gradients, FINAL_NORM), norm.dweight);
  let dx = norm.dx;
  for (let i = spec.layers - 1; i >= 0; i--)
    dx = layerBackward(spec, model.weights, i, pass.tapes[i]!, dx, gradients);
  embedBackward(pass.tokens, dx, tensorOf(gradients, EMBEDDING), spec.hidden);
}

function headName(model: ReferenceModel): string {
  return model.spec.tied ? EMBEDDING : 'lm_head.weight';
}
