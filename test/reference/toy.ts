/**
 * The objective itself, not its surrogate: a policy of four tokens whose traces can all be enumerated, so that the
 * expectation of a gradient estimator over every group of two can be held against finite differences of
 * J = sum_z pi(z | x) r(z).
 */

import type { AnswerWeightKind, ModelSpec, RewardKind, StepArgs } from '../../src/native/types.js';
import { addTo, differences } from './compare.js';
import { answersAmong, type SketchGroup, type SketchTrace, stepOf } from './groups.js';
import { logprobAt, runSequence } from './model.js';
import type { ReferenceModel, Weights } from './parameters.js';
import { policyWeights } from './policy-weights.js';

/** A real Qwen3 transformer of 4 tokens; token 3 is the border. */
export const TOY_SPEC: ModelSpec = {
  family: 'qwen3',
  layers: 1,
  hidden: 8,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  ffn: 6,
  vocab: 4,
  rmsEps: 1e-6,
  ropeTheta: 10000,
  ropeScaling: { kind: 'none' },
  qkNorm: true,
  qkvBias: false,
  tied: false,
  maxPositions: 64,
};

export const TOY_BORDER = 3;

export interface Toy {
  prompt: number[];
  /** Reference answers. */
  answers: number[][];
  /** Most sampled tokens of a trace. */
  maxTokens: number;
  /** A trace cut at `maxTokens` gets a border that was not sampled (logp has no reward without one). */
  force: boolean;
  temperature: number;
  reward: RewardKind;
  exponent: number;
}

/** The toy's question with the options of one test. */
export function toyOf(options: Partial<Toy>): Toy {
  return {
    prompt: [0, 2],
    answers: [[1, 2]],
    maxTokens: 3,
    force: options.reward === 'logp',
    temperature: 1,
    reward: 'p',
    exponent: 1,
    ...options,
  };
}

/** A gradient to ascend: the mean over the traces of one group, by any engine. */
export type GroupGradient = (group: SketchGroup) => Promise<Weights> | Weights;

export interface WeighedGroup {
  group: SketchGroup;
  probability: number;
}

/** Every trace: those that end at their first border, and those cut at `maxTokens`. */
export function toyTraces(toy: Toy): SketchTrace[] {
  const traces: SketchTrace[] = [];
  const grow = (tokens: number[]): void => {
    const ended = tokens.at(-1) === TOY_BORDER;
    if (ended) traces.push({ tokens, continuations: toy.answers });
    else if (tokens.length === toy.maxTokens && toy.force)
      traces.push({ tokens, forced: [TOY_BORDER], continuations: toy.answers });
    else if (tokens.length === toy.maxTokens) traces.push({ tokens, continuations: [] });
    else for (let id = 0; id < TOY_SPEC.vocab; id++) grow([...tokens, id]);
  };
  grow([]);
  return traces;
}

/** Log-probs of the sampled tokens, and of the tokens of each continuation. */
function evaluate(
  model: ReferenceModel,
  toy: Toy,
  trace: SketchTrace,
): { trace: number[]; answers: number[][] } {
  const begin = toy.prompt.length;
  const whole = [...toy.prompt, ...trace.tokens, ...(trace.forced ?? [])];
  const passes = trace.continuations.map((ids) => runSequence(model, [...whole, ...ids], toy.temperature));
  const first = passes[0] ?? runSequence(model, whole, toy.temperature);
  return {
    trace: trace.tokens.map((_, i) => logprobAt(model, first, begin + i)),
    answers: trace.continuations.map((ids, c) =>
      ids.map((_, i) => logprobAt(model, passes[c]!, whole.length + i)),
    ),
  };
}

/** pi(z | x) of a trace. */
export function probabilityOf(model: ReferenceModel, toy: Toy, trace: SketchTrace): number {
  return Math.exp(evaluate(model, toy, trace).trace.reduce((a, b) => a + b, 0));
}

/** Every unordered pair of traces with its probability as a group of two independent samples. */
export function groupsOfTwo(model: ReferenceModel, toy: Toy): WeighedGroup[] {
  const traces = toyTraces(toy);
  const p = traces.map((trace) => probabilityOf(model, toy, trace));
  return traces.flatMap((a, i) =>
    traces.slice(i).map((b, j) => ({
      group: { prompt: toy.prompt, traces: [a, b] },
      probability: p[i]! * p[i + j]! * (j === 0 ? 1 : 2),
    })),
  );
}

/** The expectation of `gradient` over all groups of two. */
export async function expectedGradient(
  groups: readonly WeighedGroup[],
  gradient: GroupGradient,
): Promise<Weights> {
  const total: Weights = new Map();
  for (const { group, probability } of groups)
    for (const [name, tensor] of await gradient(group)) {
      const sum = total.get(name) ?? new Float64Array(tensor.length);
      addTo(sum, tensor, probability);
      total.set(name, sum);
    }
  return total;
}

/** J = sum_z pi(z | x) r(z); r is 0 without border. */
export function toyObjective(model: ReferenceModel, toy: Toy): number {
  let total = 0;
  for (const trace of toyTraces(toy).filter((t) => t.continuations.length > 0)) {
    const { trace: own, answers } = evaluate(model, toy, trace);
    const [weighed] =
      policyWeights([{ continuations: answers }], { ...toy, advantage: 'none', answerWeight: 'none' }) ?? [];
    total += Math.exp(own.reduce((a, b) => a + b, 0)) * weighed!.reward;
  }
  return total;
}

/** The gradient of J by central differences, for every parameter. */
export function toyDifferences(model: ReferenceModel, toy: Toy): Weights {
  return new Map(
    [...model.weights].map(([name, tensor]) => [name, differences(() => toyObjective(model, toy), tensor)]),
  );
}

/** The step of one group, its answers' log-probs not yet filled in (see `withAnswers`). */
export function toyStep(
  toy: Toy,
  group: SketchGroup,
  options: { advantage: 'rloo' | 'none'; answerWeight?: AnswerWeightKind; terms?: StepArgs['terms'] },
): StepArgs {
  return {
    ...stepOf([group]),
    ...options,
    reward: toy.reward,
    rewardExponent: toy.exponent,
    temperature: toy.temperature,
  };
}

/** The step with its answers' log-probs, taken from those of all its span tokens. */
export function withAnswers(args: StepArgs, logprobs: ArrayLike<number>): StepArgs {
  return { ...args, answerLogprobs: answersAmong(args, logprobs) };
}
