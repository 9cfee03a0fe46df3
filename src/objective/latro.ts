/**
 * LaTRO (arXiv 2411.04282; VeriFree §3.3): R = log π(y* | x, z) − β log(π(z | x) / π_ref(z | x)), detached, with the reference
 * model the start model; weight 1 for the answer. The KL is a part of the trace's reward and covers z alone.
 */

import type { AdvantageKind } from '../native/types.js';
import type { Group } from '../rollout/trajectory.js';
import type { Objective, StepPlan } from './objective.js';
import { type VeriFreeOptions, verifree } from './verifree.js';

export interface LatroOptions
  extends Omit<VeriFreeOptions, 'reward' | 'rewardExponent' | 'answerWeight' | 'kl'> {
  advantage: Exclude<AdvantageKind, 'given'>;
  /** β. */
  beta: number;
  /** Log-probs of every trace's tokens under the reference model, summed; traces of all groups in order. */
  referenceLogprobs(groups: readonly Group[]): Promise<Float64Array>;
}

/** The LaTRO baseline. */
export function latro(options: LatroOptions): Objective {
  const base = verifree({ ...options, kl: 0, reward: 'logp', rewardExponent: 1, answerWeight: 'one' });
  return {
    ...base,
    name: 'latro',
    reference: true,
    async plan(groups, step): Promise<StepPlan> {
      const plan = await base.plan(groups, step);
      const reference = await options.referenceLogprobs(groups);
      const given = latroRewards(groups, reference, options.beta);
      const drift = traces(groups).map(({ logprobs }, i) => sum(logprobs) - reference[i]!);
      const metrics = { ...plan.metrics, 'kl/trace': sum(drift) / Math.max(1, drift.length) };
      return { ...plan, reward: 'given', given, metrics };
    },
  };
}

/**
 * R of every trace. One without border has no answer to score: it takes the group's lowest R, and is missing (NaN) where no
 * trace of the group has one.
 */
export function latroRewards(groups: readonly Group[], reference: Float64Array, beta: number): Float32Array {
  const rewards: number[] = [];
  for (const group of groups) {
    const own = group.traces.map(({ logprobs, answerLogprobs }, i) => {
      if (answerLogprobs.length === 0) return Number.NaN;
      const answer = logSumExp(answerLogprobs.map(sum));
      return answer - beta * (sum(logprobs) - reference[rewards.length + i]!);
    });
    const known = own.filter((value) => !Number.isNaN(value));
    const lowest = known.length === 0 ? Number.NaN : Math.min(...known);
    rewards.push(...own.map((value) => (Number.isNaN(value) ? lowest : value)));
  }
  return Float32Array.from(rewards);
}

function traces(groups: readonly Group[]) {
  return groups.flatMap((group) => group.traces);
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** log of the summed probability of several references; each is finite. */
function logSumExp(values: readonly number[]): number {
  const largest = Math.max(...values);
  return largest + Math.log(sum(values.map((value) => Math.exp(value - largest))));
}
