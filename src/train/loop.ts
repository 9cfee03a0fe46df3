/** The training loop, the only one: draw questions, sample, plan, step, report, evaluate, save. It never knows its objective. */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import type { StepArgs, StepResult } from '../native/types.js';
import type { Objective, StepPlan } from '../objective/objective.js';
import { type RolloutSettings, type RolloutStats, sampleGroups } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { packGroups } from './batch.js';
import { learningRate, type Schedule } from './schedule.js';
import { type LoopState, runSteps, type StepParts } from './steps.js';
import { nothingTrained, updateWeights } from './update.js';

export interface Draw {
  question: Question;
  /** How many questions the run drew before this one. */
  occurrence: number;
}

export interface LoopParts extends StepParts {
  /** The frozen start model, when the objective wants a KL penalty. */
  reference: Policy | null;
  objective: Objective;
  rollout: RolloutSettings;
  /** The next `count` questions of the run. */
  draw(count: number): Draw[];
  prompt(questions: readonly Question[]): Promise<{ promptIds: Int32Array; patches: Int32Array[] }[]>;
  decode(ids: Int32Array): string;
  schedule: Schedule;
  promptsPerStep: number;
  /** All groups of a step, for samples.jsonl. */
  record(step: number, groups: Group[], result: StepResult): Promise<void>;
  /** Looks at the first groups of a fresh run before any update (the probe's figures for step 0). */
  firstLook?: (groups: Group[], plan: StepPlan, stats: RolloutStats) => Promise<void>;
}

/** Runs from `state` to the last step, or until asked to stop. Returns the state reached. */
export function runLoop(parts: LoopParts, state: LoopState): Promise<LoopState> {
  return runSteps(parts, state, (step, updatesDone) => policyStep(parts, step, updatesDone));
}

async function policyStep(parts: LoopParts, step: number, updatesDone: number): Promise<number> {
  const started = performance.now();
  const { groups, stats } = await rollout(parts, step);
  const plan = await parts.objective.plan(groups, step);
  if (step === 1 && plan.groups.length > 0) await parts.firstLook?.(groups, plan, stats);
  const args = stepArgs(parts, plan, step, updatesDone);
  const result =
    plan.groups.length === 0 ? nothingTrained() : await updateWeights(parts.policy, parts.reference, args);
  const seconds = (performance.now() - started) / 1000;
  parts.emit({ event: 'step', step, metrics: stepMetrics(parts, plan, stats, result, args, seconds) });
  await parts.record(step, plan.groups, result);
  return result.updates;
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
