/** Objective: turns rollouts into one `step` of the engine. The loop never knows which one it runs. */

import type { Question } from '../data/question.js';
import type { StepArgs, StepResult } from '../native/types.js';
import type { RolloutStats } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';

/** What the engine is to do with the groups of a step; the loop adds tree, optimizer and micro-batches. */
export type StepPlan = Pick<
  StepArgs,
  | 'reward'
  | 'rewardExponent'
  | 'advantage'
  | 'answerWeight'
  | 'lengthDivisor'
  | 'normalize'
  | 'clipLow'
  | 'clipHigh'
  | 'dualClip'
  | 'klCoefficient'
  | 'tisCap'
  | 'epochs'
  | 'miniBatches'
> & {
  /** Groups to train on, in order (an objective may keep fewer traces, or groups, than were sampled; none: no update). */
  groups: Group[];
  /** [traces of groups] or empty. */
  given: Float32Array;
  /** Metrics known before the update. */
  metrics: Metrics;
};

export interface Objective {
  name: string;
  /** Samples a question gets in a step. */
  groupSize: number;
  /** Whether prompts carry continuations (the patched reference answers). */
  patches: boolean;
  /** Whether the loop must provide reference log-probs (KL). */
  reference: boolean;
  /** A question it can't use gives a reason; else null. Checked before training starts. */
  refuse(question: Question): string | null;
  plan(groups: Group[], step: number): Promise<StepPlan>;
  /** Metrics after the update. */
  metrics(plan: StepPlan, result: StepResult, stats: RolloutStats): Metrics;
}
