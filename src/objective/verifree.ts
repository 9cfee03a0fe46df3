/**
 * VeriFree (arXiv 2505.21493, eq. 7): R_i = π(y* | x, z_i), A_i by RLOO on the trace, R_i as the answer's weight.
 * JLB is `reward: 'logp', answerWeight: 'one'`. R is made in the engine from the log-probs that sampling returned.
 */

import { invalidValue } from '../errors.js';
import type { AdvantageKind, AnswerWeightKind, RewardKind, StepResult } from '../native/types.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import type { Objective, StepPlan } from './objective.js';

/** How a step's traces become updates, whatever their reward is made of. */
export interface UpdateOptions {
  /** Divides both terms of every trace: 1 (equation 7), or a constant such as the most tokens a trace may have. */
  lengthDivisor: number;
  epochs: number;
  miniBatches: number;
  /** PPO clip on both terms (Appendix B); negative: none. */
  clip: number;
  tisCap: number;
  /** Coefficient of the k3 penalty to the start model; 0: none. */
  kl: number;
}

/** The plan's fields for these options; the loss is a mean over traces. */
export function updatePlan(options: UpdateOptions) {
  const { lengthDivisor, clip, kl, tisCap, epochs, miniBatches } = options;
  return {
    lengthDivisor,
    normalize: 'traces',
    clipLow: clip,
    clipHigh: clip,
    dualClip: 0,
    klCoefficient: kl,
    tisCap,
    epochs,
    miniBatches,
  } satisfies Partial<StepPlan>;
}

export interface VeriFreeOptions extends UpdateOptions {
  groupSize: number;
  reward: Exclude<RewardKind, 'given'>;
  rewardExponent: number;
  advantage: Exclude<AdvantageKind, 'given'>;
  answerWeight: AnswerWeightKind;
}

export function verifree(options: VeriFreeOptions): Objective {
  if (options.groupSize < 2 && options.advantage !== 'none') {
    throw invalidValue(
      'group-size',
      `at least 2 (--advantage ${options.advantage} compares the traces of a group)`,
      options.groupSize,
    );
  }
  return {
    name: 'verifree',
    groupSize: options.groupSize,
    patches: true,
    reference: options.kl > 0,
    refuse: (question) => (question.answers.length === 0 ? 'no reference answer' : null),
    async plan(groups): Promise<StepPlan> {
      return {
        groups,
        given: new Float32Array(0),
        reward: options.reward,
        rewardExponent: options.rewardExponent,
        advantage: options.advantage,
        answerWeight: options.answerWeight,
        ...updatePlan(options),
        metrics: traceMetrics(groups),
      };
    },
    metrics: (plan, result) => rewardMetrics(plan.groups, result),
  };
}

/** How the traces of a step ended and how long they are. */
export function traceMetrics(groups: readonly Group[]): Metrics {
  const traces = groups.flatMap((group) => group.traces);
  const share = (finish: string) => traces.filter((trace) => trace.finish === finish).length / traces.length;
  return {
    'border/rate': share('border'),
    'border/overrun': share('overrun'),
    'trace/truncated': share('length'),
    'trace/eos': share('eos'),
    'trace/tokens': traces.reduce((sum, trace) => sum + trace.ids.length, 0) / traces.length,
  };
}

/** R, log R and what the groups had to say. Underflow: a finite log R whose R is 0 in f32. */
export function rewardMetrics(groups: readonly Group[], result: StepResult): Metrics {
  const { logReward, reward, advantage, skipped } = result;
  const finite = logReward.filter((value) => Number.isFinite(value));
  const answers = groups.flatMap((group) => group.traces.flatMap((trace) => trace.answerLogprobs));
  let zeroVariance = 0;
  let start = 0;
  for (const group of groups) {
    const own = advantage.subarray(start, start + group.traces.length);
    if (own.every((value) => value === 0)) zeroVariance++;
    start += group.traces.length;
  }
  const mean = (values: ArrayLike<number>) => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[i]!;
    return values.length === 0 ? 0 : sum / values.length;
  };
  return {
    'reward/mean': mean(reward),
    'reward/max': reward.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    'reward/log_mean': mean(finite),
    'reward/underflows': logReward.filter((value, i) => Number.isFinite(value) && reward[i] === 0).length,
    'answer/tokens': mean(answers.map((answer) => answer.length)),
    'advantage/max_abs': advantage.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
    'groups/zero_variance': zeroVariance / groups.length,
    'groups/skipped': skipped.reduce((a, b) => a + b, 0),
  };
}
