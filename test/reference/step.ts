/** What `step` must do, in float64: weights over whole groups, then clipped updates over epochs and mini-batches. */

import { SPAN_ROLE, type StepArgs } from '../../src/native/types.js';
import { adamW, globalNorm, type Moments } from './adamw.js';
import { forestGradient, scoreForest, spanTokenOffsets } from './forest.js';
import type { ReferenceModel, Weights } from './parameters.js';
import { type PolicyWeights, policyWeights, type WeighedTrace } from './policy-weights.js';
import { type TokenLoss, tokenLoss } from './token-loss.js';

export interface ReferenceStep {
  /** Of the first epoch's passes, in the order of spans. */
  logprobs: Float64Array;
  traces: PolicyWeights[];
  /** [groups] */
  skipped: boolean[];
  /** Of the loss (to be minimized), before clipping, of the last mini-batch. */
  gradients: Weights;
  gradNorms: number[];
  /** Sums over all updates, after normalization. */
  weightedLogprob: number;
  surrogate: number;
  kl: number;
  /** Sum of |weight|: the size against which rounding in these sums is judged, since their terms cancel. */
  weightSize: number;
  clipShare: number;
}

const NO_SIGNAL: PolicyWeights = {
  logReward: Number.NEGATIVE_INFINITY,
  reward: 0,
  advantage: 0,
  traceWeight: 0,
  answerWeights: [],
};

/** Runs `args` on the model; with `update`, its weights and `moments` change in place. */
export function referenceStep(model: ReferenceModel, args: StepArgs, moments: Moments): ReferenceStep {
  const { traces, skipped } = tracesOf(args);
  const rows = spanTokenOffsets(args.spans);
  const token = args.spanWeights.length > 0 ? suppliedWeights(args, rows) : tokenWeights(args, traces, rows);
  const result: ReferenceStep = {
    logprobs: new Float64Array(rows.at(-1)!),
    traces,
    skipped,
    gradients: new Map(),
    gradNorms: [],
    weightedLogprob: 0,
    surrogate: 0,
    kl: 0,
    weightSize: 0,
    clipShare: 0,
  };
  let clipped = 0;
  let seen = 0;
  for (let epoch = 0; epoch < args.epochs; epoch++)
    for (let b = 0; b < args.miniBatches; b++) {
      const batch = miniBatch(args, b, rows);
      const found = batchLoss(model, args, token, batch);
      for (const t of batch.tokens) if (epoch === 0) result.logprobs[t] = found.logprobs[t]!;
      result.gradients = forestGradient(model, args.tree, args.spans, args.temperature, found.coefficients);
      result.weightedLogprob += found.weightedLogprob;
      result.surrogate += found.surrogate;
      result.kl += found.kl;
      result.weightSize += found.weightSize;
      clipped += found.losses.filter((loss) => loss.clipped).length;
      seen += batch.tokens.length;
      const updatesDone = args.optimizer.updatesDone + result.gradNorms.length;
      result.gradNorms.push(
        args.update
          ? adamW(model.weights, result.gradients, moments, args.optimizer, updatesDone)
          : globalNorm(result.gradients),
      );
    }
  result.clipShare = clipped / seen;
  return result;
}

/** The traces with their continuations' log-probs, weighed group by group. */
function tracesOf(args: StepArgs): { traces: PolicyWeights[]; skipped: boolean[] } {
  const traces: PolicyWeights[] = [];
  const skipped: boolean[] = [];
  for (let g = 0; g + 1 < args.groupOffsets.length; g++) {
    const group: WeighedTrace[] = [];
    for (let t = args.groupOffsets[g]!; t < args.groupOffsets[g + 1]!; t++) {
      const continuations: number[][] = [];
      for (let c = args.continuationOffsets[t] ?? 0; c < (args.continuationOffsets[t + 1] ?? 0); c++)
        continuations.push([
          ...args.answerLogprobs.subarray(args.answerOffsets[c]!, args.answerOffsets[c + 1]!),
        ]);
      group.push(args.given.length > 0 ? { continuations, given: args.given[t]! } : { continuations });
    }
    const weighed =
      args.spanWeights.length > 0 ? null : policyWeights(group, { ...args, exponent: args.rewardExponent });
    skipped.push(weighed === null);
    traces.push(...(weighed ?? group.map(() => NO_SIGNAL)));
  }
  return { traces, skipped };
}

/** One weight a span token, divisors not yet included; answer tokens take their trace's answer weights in order. */
function tokenWeights(args: StepArgs, traces: PolicyWeights[], rows: number[]): Float64Array {
  const weights = new Float64Array(rows.at(-1)!);
  const taken = traces.map(() => 0);
  for (let s = 0; s < args.spanTrace.length; s++) {
    const t = args.spanTrace[s]!;
    const answer = args.spans[4 * s + 3] === SPAN_ROLE.answer;
    for (let row = rows[s]!; row < rows[s + 1]!; row++) {
      const weight = answer ? (traces[t]!.answerWeights[taken[t]!++] ?? 0) : traces[t]!.traceWeight;
      const counts = args.terms === 'both' || args.terms === (answer ? 'answer' : 'reasoning');
      weights[row] = counts ? weight : 0;
    }
  }
  return weights;
}

function suppliedWeights(args: StepArgs, rows: number[]): Float64Array {
  const weights = new Float64Array(rows.at(-1)!);
  args.spanWeights.forEach((weight, s) => {
    weights.fill(weight, rows[s]!, rows[s + 1]!);
  });
  return weights;
}

/** Span tokens of a mini-batch (whole groups, in order) and the factor of every one of its terms. */
function miniBatch(args: StepArgs, b: number, rows: number[]): { tokens: number[]; scale: number } {
  const groups = args.groupOffsets.length - 1;
  const begin = args.groupOffsets[Math.floor((b * groups) / args.miniBatches)]!;
  const end = args.groupOffsets[Math.floor(((b + 1) * groups) / args.miniBatches)]!;
  const tokens: number[] = [];
  for (let s = 0; s < args.spanTrace.length; s++)
    if (args.spanTrace[s]! >= begin && args.spanTrace[s]! < end)
      for (let row = rows[s]!; row < rows[s + 1]!; row++) tokens.push(row);
  const count = args.normalize === 'traces' ? end - begin : tokens.length;
  return { tokens, scale: 1 / (count * args.lengthDivisor) };
}

function batchLoss(
  model: ReferenceModel,
  args: StepArgs,
  weights: Float64Array,
  batch: { tokens: number[]; scale: number },
) {
  const { logprobs } = scoreForest(model, args.tree, args.spans, args.temperature);
  // The gradient of sum c_i logprob_i is the loss's when c_i is the loss's derivative at logprob_i.
  const coefficients = new Float64Array(weights.length);
  const losses: TokenLoss[] = [];
  const sums = { weightedLogprob: 0, surrogate: 0, kl: 0, weightSize: 0 };
  for (const t of batch.tokens) {
    const weight = weights[t]! * batch.scale;
    const loss = tokenLoss(
      {
        logprob: logprobs[t]!,
        old: args.oldLogprobs.length > 0 ? args.oldLogprobs[t]! : null,
        onPolicy: args.epochs * args.miniBatches === 1,
        reference: args.refLogprobs.length > 0 ? args.refLogprobs[t]! : null,
        weight,
        klWeight: args.klCoefficient * batch.scale,
      },
      args,
    );
    losses.push(loss);
    coefficients[t] = loss.gradient;
    sums.weightedLogprob += weight * logprobs[t]!;
    sums.weightSize += Math.abs(weight);
    sums.surrogate += loss.surrogate;
    sums.kl += args.klCoefficient * batch.scale * loss.kl;
  }
  return { logprobs, coefficients, losses, ...sums };
}
