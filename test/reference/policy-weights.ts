/**
 * VeriFree's reward, advantage and token weights over whole groups, in float64 (R = pi(y* | x, z), RLOO on z, and the
 * gradient of the chosen reward on y*), with the other rewards, baselines and answer weights.
 */

import type { AdvantageKind, AnswerWeightKind, RewardKind } from '../../src/native/types.js';

/** A trace: answer log-probs of each continuation (none: no border), and a reward or advantage from outside. */
export interface WeighedTrace {
  continuations: number[][];
  given?: number;
}

export interface PolicyWeights {
  /** Of what R was made of; -Infinity without border. */
  logReward: number;
  /** NaN: missing. */
  reward: number;
  advantage: number;
  /** Weight of every reasoning token. */
  traceWeight: number;
  /** Weight of every answer token, continuation after continuation. */
  answerWeights: number[];
}

export interface WeightOptions {
  reward: RewardKind;
  exponent: number;
  advantage: AdvantageKind;
  answerWeight: AnswerWeightKind;
}

/**
 * Weights of one group before any divisor. Null where the group gives no signal by rule: under logp when no trace has a
 * border, and when everything given from outside is missing.
 */
export function policyWeights(group: WeighedTrace[], options: WeightOptions): PolicyWeights[] | null {
  const logRewards = group.map((trace) => logRewardOf(trace, options));
  const lowest = Math.min(...logRewards.filter(Number.isFinite));
  if (options.reward === 'logp' && lowest === Number.POSITIVE_INFINITY) return null;
  const outside = options.reward === 'given' || options.advantage === 'given';
  if (outside && group.every((trace) => Number.isNaN(trace.given ?? Number.NaN))) return null;
  const rewards = group.map((trace, i) => {
    if (options.reward === 'given') return trace.given ?? Number.NaN;
    if (options.reward === 'logp') return Math.max(logRewards[i]!, lowest);
    return Math.exp(logRewards[i]!);
  });
  const advantages =
    options.advantage === 'given'
      ? group.map((t) => t.given ?? Number.NaN)
      : advantagesOf(rewards, options.advantage);
  return group.map((trace, i) => {
    const advantage = Number.isNaN(advantages[i]!) ? 0 : advantages[i]!;
    return {
      logReward: logRewards[i]!,
      reward: rewards[i]!,
      advantage,
      traceWeight: advantage,
      answerWeights: answerWeights(trace, advantage, options),
    };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function logSumExp(values: readonly number[]): number {
  const top = Math.max(...values);
  return top === Number.NEGATIVE_INFINITY ? top : top + Math.log(sum(values.map((v) => Math.exp(v - top))));
}

/** log of the mean probability of a continuation's tokens. */
function logMeanProbability(lp: readonly number[]): number {
  return logSumExp(lp) - Math.log(lp.length);
}

function logRewardOf(trace: WeighedTrace, options: WeightOptions): number {
  if (trace.continuations.length === 0) return Number.NEGATIVE_INFINITY;
  if (options.reward === 'p') return options.exponent * logSumExp(trace.continuations.map(sum));
  if (options.reward === 'logp') return logSumExp(trace.continuations.map(sum));
  return options.exponent * Math.max(...trace.continuations.map(logMeanProbability));
}

/** Leave-one-out (VeriFree eq. 7), group mean, GRPO's standardized, or none. Missing (NaN) rewards stay missing. */
export function advantagesOf(rewards: readonly number[], kind: AdvantageKind): number[] {
  const known = rewards.filter((r) => !Number.isNaN(r));
  const mean = sum(known) / known.length;
  const std = Math.sqrt(sum(known.map((r) => (r - mean) ** 2)) / (known.length - 1));
  const equal = known.every((r) => r === known[0]);
  return rewards.map((r) => {
    if (Number.isNaN(r)) return r;
    if (kind === 'none') return r;
    if (equal) return 0;
    if (kind === 'rloo') return r - (sum(known) - r) / (known.length - 1);
    return kind === 'mean' ? r - mean : (r - mean) / (std + 1e-6);
  });
}

function answerWeights(trace: WeighedTrace, advantage: number, options: WeightOptions): number[] {
  const { reward, exponent: k, answerWeight } = options;
  if (answerWeight === 'none') return trace.continuations.flatMap((lp) => lp.map(() => 0));
  if (answerWeight === 'one') return trace.continuations.flatMap((lp) => lp.map(() => 1));
  if (answerWeight === 'advantage') return trace.continuations.flatMap((lp) => lp.map(() => advantage));
  if (reward === 'given') throw new Error('A reward from outside has no exact answer weight');
  const logs = trace.continuations.map(sum);
  if (reward === 'logp')
    return trace.continuations.flatMap((lp, c) => lp.map(() => Math.exp(logs[c]! - logSumExp(logs))));
  if (reward === 'p')
    return trace.continuations.flatMap((lp, c) =>
      lp.map(() => k * Math.exp((k - 1) * logSumExp(logs) + logs[c]!)),
    );
  const means = trace.continuations.map(logMeanProbability);
  const best = means.indexOf(Math.max(...means));
  return trace.continuations.flatMap((lp, c) =>
    lp.map((v) => (c === best ? (k * Math.exp((k - 1) * means[c]! + v)) / lp.length : 0)),
  );
}
