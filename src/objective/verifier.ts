/**
 * The verifier baseline with Dr. GRPO (arXiv 2503.20783): the whole reply is sampled, reward 1 where its answer equals a
 * reference by the rules of src/text/equal, A = r − mean(r), a constant length divisor. No reference text is trained on.
 */

import { invalidValue } from '../errors.js';
import type { StepResult } from '../native/types.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { extractBoxed } from '../text/answer.js';
import { equal } from '../text/equal.js';
import type { Objective, StepPlan } from './objective.js';
import { traceMetrics, type UpdateOptions, updatePlan } from './verifree.js';

export interface VerifierOptions extends UpdateOptions {
  groupSize: number;
  advantage: 'rloo' | 'mean' | 'none' | 'grpo';
}

/** The verifier baseline. Replies must be sampled to the closing tag, without a border stop. */
export function verifier(options: VerifierOptions): Objective {
  if (options.groupSize < 2 && options.advantage !== 'none') {
    throw invalidValue('group-size', 'at least 2', options.groupSize);
  }
  return {
    name: 'verifier',
    groupSize: options.groupSize,
    patches: false,
    reference: options.kl > 0,
    refuse: (question) => (question.answers.length === 0 ? 'no reference answer' : null),
    async plan(groups): Promise<StepPlan> {
      const { rewards, unparsed } = judge(groups);
      return {
        groups: [...groups],
        given: rewards,
        reward: 'given',
        rewardExponent: 1,
        advantage: options.advantage,
        answerWeight: 'none',
        ...updatePlan(options),
        metrics: { ...traceMetrics(groups), 'answer/unparsed': unparsed },
      };
    },
    metrics: (plan, result) => rewardShare(plan.groups, result),
  };
}

/** 1 or 0 for every trace, and the share of traces without an answer. */
export function judge(groups: readonly Group[]): { rewards: Float32Array; unparsed: number } {
  let missing = 0;
  const rewards = groups.flatMap((group) =>
    group.traces.map(({ text }) => {
      const answer = extractBoxed(text);
      if (answer === null) missing++;
      return answer !== null && group.question.answers.some((gold) => equal(gold, answer)) ? 1 : 0;
    }),
  );
  return { rewards: Float32Array.from(rewards), unparsed: missing / Math.max(1, rewards.length) };
}

function rewardShare(groups: readonly Group[], { reward, advantage }: StepResult): Metrics {
  let start = 0;
  let flat = 0;
  for (const { traces } of groups) {
    if (advantage.subarray(start, start + traces.length).every((value) => value === 0)) flat++;
    start += traces.length;
  }
  return {
    'reward/mean': reward.reduce((a, b) => a + b, 0) / Math.max(1, reward.length),
    'groups/zero_variance': flat / Math.max(1, groups.length),
  };
}
