/**
 * TTRL and T3RL: all traces of a question vote, its pseudo-label is the answer of largest mass n_u + ω·n_v (T3RL eqs. 7, 8),
 * reward 1[a_i = label] (eq. 9), GRPO on the first traces (eq. 10). ω = 1 is TTRL. References are for metrics alone.
 */

import { invalidValue } from '../errors.js';
import type { AdvantageKind, StepResult } from '../native/types.js';
import type { RolloutStats } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { extractBoxed } from '../text/answer.js';
import { canonical } from '../text/equal.js';
import type { Checked, TraceAnswer, TraceChecker } from '../verify/checker.js';
import { costMetrics } from '../verify/cost.js';
import { type VotedQuestion, voteMetrics } from '../verify/metrics.js';
import { type Tally, type TallyOptions, tally, voteRewards } from '../verify/tally.js';
import { type Verdict, verdictCounts } from '../verify/tool.js';
import type { Objective, StepPlan } from './objective.js';

export interface VoteOptions extends TallyOptions {
  /** Traces of a question that vote. */
  votes: number;
  /** The first of them that are trained on. */
  trainSamples: number;
  advantage: Exclude<AdvantageKind, 'given'>;
  epochs: number;
  /** Questions of one update; questions that are skipped make fewer updates, not smaller ones. */
  questionsPerUpdate: number;
  /** Negative: none. */
  clip: number;
  /** 0: none. */
  dualClip: number;
  kl: number;
  tisCap: number;
  /** Parameters of the policy, for the count of operations. */
  parameters: number;
  /** Forward passes beside the training pass (reference, old log-probs), for the same. */
  extraForwards: number;
  /** Null at ω = 1: nothing is checked, every vote weighs 1. */
  checker: TraceChecker | null;
  /** Called once a step, before the update. */
  record(step: number, votes: readonly QuestionVote[]): void;
}

/** One question's vote. */
export interface QuestionVote {
  group: Group;
  answers: readonly TraceAnswer[];
  /** Of each trace; null when nothing was checked. */
  verdicts: readonly Verdict[] | null;
  tally: Tally;
  /** Key of the reference answer; null when there is none. Metrics alone read it. */
  gold: string | null;
}

/** Rewards and kept groups of a vote: what is trained on. Questions below the least agreement are left out. */
export function keptTraces(
  votes: readonly QuestionVote[],
  trainSamples: number,
): { groups: Group[]; given: Float32Array } {
  const used = votes.filter(({ tally }) => tally.skipped !== 'low agreement');
  const groups = used.map(({ group }) => ({ ...group, traces: group.traces.slice(0, trainSamples) }));
  const given = used.flatMap(({ answers, tally }) =>
    voteRewards(
      answers.slice(0, trainSamples).map(({ key }) => key),
      tally.label,
    ),
  );
  return { groups, given: Float32Array.from(given) };
}

/** Each trace's own answer. */
export function answersOf(group: Group): TraceAnswer[] {
  return group.traces.map(({ text }) => {
    const boxed = extractBoxed(text);
    const key = boxed === null ? null : canonical(boxed);
    return key === null ? { text: null, key: null } : { text: boxed, key };
  });
}

export function vote(options: VoteOptions): Objective {
  const { votes, trainSamples } = options;
  if (trainSamples > votes) throw invalidValue('train-samples', `at most ${votes} (votes)`, trainSamples);
  let checked: Checked | null = null;
  return {
    name: 'vote',
    groupSize: votes,
    patches: false,
    reference: options.kl > 0,
    refuse: () => null,
    async plan(groups, step): Promise<StepPlan> {
      const answers = groups.map(answersOf);
      checked = options.checker === null ? null : await options.checker.check(groups, answers, step);
      const voted = groups.map((group, i) =>
        voteOf(group, answers[i]!, checked?.verdicts[i] ?? null, options),
      );
      options.record(step, voted);
      const kept = keptTraces(voted, trainSamples);
      return {
        ...kept,
        reward: 'given',
        rewardExponent: 1,
        advantage: options.advantage,
        answerWeight: 'none',
        lengthDivisor: 1,
        normalize: 'tokens',
        clipLow: options.clip,
        clipHigh: options.clip,
        dualClip: options.dualClip,
        klCoefficient: options.kl,
        tisCap: options.tisCap,
        epochs: options.epochs,
        miniBatches: Math.max(1, Math.ceil(kept.groups.length / options.questionsPerUpdate)),
        metrics: { ...metricsOf(voted, trainSamples), ...tracesOf(groups) },
      };
    },
    metrics: (plan, result, stats) => ({
      ...rewardsOf(plan, result),
      ...costsOf(options, plan, checked, result, stats),
    }),
  };
}

function voteOf(
  group: Group,
  answers: readonly TraceAnswer[],
  verdicts: readonly Verdict[] | null,
  options: TallyOptions,
): QuestionVote {
  const ballots = answers.map(({ key }, i) => ({ key, verdict: verdicts?.[i]?.value ?? (0 as const) }));
  return { group, answers, verdicts, tally: tally(ballots, options), gold: goldOf(group, answers) };
}

/** Of several accepted answers the one that some trace gave, else the first that can be read. */
function goldOf({ question }: Group, answers: readonly TraceAnswer[]): string | null {
  const keys = question.answers.map(canonical).filter((key): key is string => key !== null);
  const given = new Set(answers.map(({ key }) => key));
  return keys.find((key) => given.has(key)) ?? keys[0] ?? null;
}

function metricsOf(votes: readonly QuestionVote[], trainSamples: number): Metrics {
  const voted = votes.map(
    ({ tally, answers, verdicts, gold }): VotedQuestion => ({
      tally,
      keys: answers.map(({ key }) => key),
      verdicts: answers.map((_, i) => verdicts?.[i]?.value ?? 'missing'),
      kept: trainSamples,
      gold,
    }),
  );
  const measured = voteMetrics(voted, votes[0]?.answers.length ?? 1);
  const verdicts = votes.flatMap(({ verdicts }) => verdicts ?? []);
  if (verdicts.length > 0) return { ...measured, ...verdictCounts(verdicts) };
  // Nothing was checked: what a verifier would have been worth is unknown, not 0.
  const ofVerifier = (name: string) =>
    name.startsWith('verifier/') || name === 'vote/verified' || name === 'vote/missing';
  return Object.fromEntries(Object.entries(measured).filter(([name]) => !ofVerifier(name)));
}

/** Of all traces. The policy's entropy is estimated by the mean of -log π over sampled tokens, at the sampling temperature. */
function tracesOf(groups: readonly Group[]): Metrics {
  const traces = groups.flatMap((group) => group.traces);
  const tokens = traces.reduce((sum, trace) => sum + trace.ids.length, 0);
  const logprob = traces.reduce((sum, { logprobs }) => logprobs.reduce((a, b) => a + b, sum), 0);
  const share = (finish: string) => traces.filter((trace) => trace.finish === finish).length / traces.length;
  return {
    'trace/tokens': tokens / traces.length,
    'trace/truncated': share('length'),
    'trace/eos': share('eos'),
    'policy/entropy': -logprob / Math.max(1, tokens),
  };
}

function rewardsOf(plan: StepPlan, { reward, advantage }: StepResult): Metrics {
  const { groups } = plan;
  let dead = 0;
  let start = 0;
  for (const { traces } of groups) {
    const own = advantage.subarray(start, start + traces.length);
    if (own.every((value) => value === 0)) dead++;
    start += traces.length;
  }
  return {
    'reward/mean': reward.reduce((a, b) => a + b, 0) / Math.max(1, reward.length),
    'advantage/max_abs': advantage.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
    'groups/trained': groups.length,
    'groups/zero_variance': dead / Math.max(1, groups.length),
  };
}

function costsOf(
  options: VoteOptions,
  plan: StepPlan,
  checked: Checked | null,
  result: StepResult,
  stats: RolloutStats,
): Metrics {
  const replies = checked?.replies ?? null;
  return costMetrics({
    policy: {
      parameters: options.parameters,
      promptTokens: stats.prefillTokens,
      generatedTokens: stats.decodeTokens,
      seconds: stats.prefillSeconds + stats.decodeSeconds,
    },
    verifier: replies === null ? null : { parameters: options.checker?.parameters ?? 0, ...replies },
    training: {
      parameters: options.parameters,
      trainedTokens: result.tokensComputed * plan.epochs,
      extraForwards: options.extraForwards,
      seconds: result.seconds,
    },
    executeSeconds: checked?.executeSeconds ?? 0,
  });
}
