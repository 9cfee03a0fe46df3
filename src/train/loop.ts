/** The training loop, the only one: draw questions, sample, plan, step, report, evaluate, save. It never knows its objective. */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import type { OptimizerArgs, StepArgs, StepResult } from '../native/types.js';
import type { Objective, StepPlan } from '../objective/objective.js';
import { type RolloutSettings, type RolloutStats, sampleGroups } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { Emit, Metrics } from '../run/events.js';
import { packGroups } from './batch.js';
import { learningRate, type Schedule } from './schedule.js';
import { nothingTrained, updateWeights } from './update.js';

export interface Draw {
  question: Question;
  /** How many questions the run drew before this one. */
  occurrence: number;
}

/** What a checkpoint must hold besides weights and moments. */
export interface LoopState {
  /** Steps done. */
  step: number;
  /** Optimizer updates done. */
  updates: number;
}

export interface LoopParts {
  policy: Policy;
  /** The frozen start model, when the objective wants a KL penalty. */
  reference: Policy | null;
  objective: Objective;
  rollout: RolloutSettings;
  /** The next `count` questions of the run. */
  draw(count: number): Draw[];
  prompt(questions: readonly Question[]): Promise<{ promptIds: Int32Array; patches: Int32Array[] }[]>;
  decode(ids: Int32Array): string;
  optimizer: Omit<OptimizerArgs, 'lr' | 'updatesDone'>;
  schedule: Schedule;
  steps: number;
  promptsPerStep: number;
  microBatchTokens: number;
  recompute: boolean;
  /** Held-out metrics at `step`; called at step 0, every `evalEvery` steps and after the last. */
  evaluate: ((policy: Policy, step: number) => Promise<Metrics>) | null;
  evalEvery: number;
  save(state: LoopState): Promise<void>;
  saveEvery: number;
  /** All groups of a step, for samples.jsonl. */
  record(step: number, groups: Group[], result: StepResult): Promise<void>;
  /** Looks at the first groups of a fresh run before any update (the probe's figures for step 0). */
  firstLook?: (groups: Group[], plan: StepPlan, stats: RolloutStats) => Promise<void>;
  /** True once a person asked to stop: the step in hand is finished and saved. */
  stopRequested(): boolean;
  emit: Emit;
}

/** Runs from `state` to the last step, or until asked to stop. Returns the state reached. */
export async function runLoop(parts: LoopParts, state: LoopState): Promise<LoopState> {
  const { emit, evaluate, policy } = parts;
  const now = { ...state };
  if (evaluate && now.step === 0) emit({ event: 'eval', step: 0, metrics: await evaluate(policy, 0) });
  let saved = now.step;
  while (now.step < parts.steps && !parts.stopRequested()) {
    const step = now.step + 1;
    const started = performance.now();
    const { groups, stats } = await rollout(parts, step);
    const plan = await parts.objective.plan(groups, step);
    if (step === 1 && plan.groups.length > 0) await parts.firstLook?.(groups, plan, stats);
    const args = stepArgs(parts, plan, step, now.updates);
    const result =
      plan.groups.length === 0 ? nothingTrained() : await updateWeights(parts.policy, parts.reference, args);
    now.step = step;
    now.updates += result.updates;
    const seconds = (performance.now() - started) / 1000;
    emit({ event: 'step', step, metrics: stepMetrics(parts, plan, stats, result, args, seconds) });
    await parts.record(step, plan.groups, result);
    const last = step === parts.steps;
    if (evaluate && (last || (parts.evalEvery > 0 && step % parts.evalEvery === 0))) {
      emit({ event: 'eval', step, metrics: await evaluate(policy, step) });
    }
    if (last || (parts.saveEvery > 0 && step % parts.saveEvery === 0)) {
      await parts.save(now);
      saved = step;
    }
  }
  if (saved !== now.step) await parts.save(now);
  return now;
}

/** Samples the groups of a step. */
export async function rollout(
  parts: LoopParts,
  step: number,
): Promise<{ groups: Group[]; stats: RolloutStats }> {
  const draws = parts.draw(parts.promptsPerStep);
  const prompts = await parts.prompt(draws.map((draw) => draw.question));
  const requests = draws.map((draw, i) => ({
    question: draw.question,
    occurrence: draw.occurrence,
    promptIds: prompts[i]!.promptIds,
    patches: parts.objective.patches ? prompts[i]!.patches : [],
    samples: parts.objective.groupSize,
  }));
  return sampleGroups(parts.policy, requests, parts.rollout, step, parts.decode);
}

/** The engine's arguments for a plan; `terms` and `update` are for the probe. */
export function stepArgs(
  parts: Pick<LoopParts, 'schedule' | 'optimizer' | 'rollout' | 'microBatchTokens' | 'recompute'>,
  plan: StepPlan,
  step: number,
  updatesDone: number,
  extra: Partial<Pick<StepArgs, 'terms' | 'update'>> = {},
): StepArgs {
  const { groups, metrics: _metrics, ...objective } = plan;
  return {
    ...objective,
    ...packGroups(groups),
    spanWeights: new Float32Array(0),
    refLogprobs: new Float32Array(0),
    terms: 'both',
    temperature: parts.rollout.temperature,
    update: true,
    microBatchTokens: parts.microBatchTokens,
    recompute: parts.recompute,
    optimizer: { ...parts.optimizer, lr: learningRate(parts.schedule, step), updatesDone },
    ...extra,
  };
}

function stepMetrics(
  parts: LoopParts,
  plan: StepPlan,
  stats: RolloutStats,
  result: StepResult,
  args: StepArgs,
  seconds: number,
): Metrics {
  const computed =
    stats.prefillTokens + stats.decodeTokens + stats.continuationTokens + result.tokensComputed;
  return {
    ...plan.metrics,
    ...parts.objective.metrics(plan, result, stats),
    'grad/norm': result.gradNorms[result.gradNorms.length - 1] ?? 0,
    'ratio/clip_share': result.clipShare,
    'ratio/max': result.ratioMax,
    'ratio/min': result.ratioMin,
    'mismatch/mean_abs_logprob': result.mismatchMean,
    'mismatch/max_abs_logprob': result.mismatchMax,
    'loss/surrogate': -result.surrogate / Math.max(1, result.updates),
    'loss/kl': result.kl / Math.max(1, result.updates),
    'optimizer/lr': args.optimizer.lr,
    'optimizer/updates': result.updates,
    'tokens/computed': computed,
    'tokens/trained': result.tokensComputed,
    'tokens/prompts': total(plan.groups.map((group) => group.promptIds.length)),
    'tokens/answers': args.answerLogprobs.length,
    'tokens/generated': stats.decodeTokens,
    'time/prefill': stats.prefillSeconds,
    'time/decode': stats.decodeSeconds,
    'time/answers': stats.continuationSeconds,
    'time/train': result.seconds,
    'time/step': seconds,
    tokens_per_s: computed / seconds,
  };
}

function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
