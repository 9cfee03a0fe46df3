/** What `vf ttrl` says at its end: what the votes were worth, and what each phase cost. */

import type { Metrics } from '../run/events.js';
import { count, duration, percent } from '../ui/format.js';
import { FLOPS_FORMULA } from '../verify/cost.js';

const PHASES = ['policy', 'verifier', 'training'] as const;

/** Votes and costs of a run, over all its steps, those before a resume included. */
export interface TtrlTotals {
  /** Means over the steps; null where nothing could be counted. */
  votes: Record<'labelAccuracy' | 'flips' | 'falsePopular' | 'falsePopularWeighted', number | null>;
  cost: {
    formula: string;
    tokens: Record<'policy' | 'verifier' | 'trained', number>;
    seconds: Record<'policy' | 'verifier' | 'training' | 'execute', number>;
    flops: Record<(typeof PHASES)[number], number>;
  };
}

/** Adds up the metrics of a run's steps. */
export function totalsOf(steps: readonly Metrics[]): TtrlTotals {
  const total = (name: string) => steps.reduce((sum, metrics) => sum + (metrics[name] ?? 0), 0);
  const mean = (name: string) => {
    const values = steps.flatMap((metrics) => (name in metrics ? [metrics[name]!] : []));
    return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
  };
  return {
    votes: {
      labelAccuracy: mean('vote/label_accuracy'),
      flips: mean('vote/flips'),
      falsePopular: mean('vote/false_popular'),
      falsePopularWeighted: mean('vote/false_popular_weighted'),
    },
    cost: {
      formula: FLOPS_FORMULA,
      tokens: {
        policy: total('cost/policy_tokens'),
        verifier: total('cost/verifier_tokens'),
        trained: total('cost/trained_tokens'),
      },
      seconds: {
        policy: total('cost/policy_seconds'),
        verifier: total('cost/verifier_seconds'),
        training: total('cost/training_seconds'),
        execute: total('cost/execute_seconds'),
      },
      flops: {
        policy: total('cost/policy_flops'),
        verifier: total('cost/verifier_flops'),
        training: total('cost/training_flops'),
      },
    },
  };
}

/** Lines for the last screen. */
export function totalLines({ votes, cost }: TtrlTotals, omega: number | 'inf'): string[] {
  const { tokens, seconds, flops } = cost;
  const phase = (name: string, tokenCount: number, time: number, operations: number) =>
    `${name} ${count(tokenCount)} tokens, ${duration(time)}, ${operations.toExponential(1)} FLOP`;
  const said = [
    ...(votes.labelAccuracy === null ? [] : [`labels right ${percent(votes.labelAccuracy)}`]),
    ...(omega === 1 || votes.flips === null ? [] : [`changed by ω ${percent(votes.flips)}`]),
    ...(votes.falsePopular === null ? [] : [`popular answer wrong ${percent(votes.falsePopular)}`]),
    ...(omega === 1 || votes.falsePopularWeighted === null
      ? []
      : [`after ω ${percent(votes.falsePopularWeighted)}`]),
  ];
  const spent = [
    phase('policy', tokens.policy, seconds.policy, flops.policy),
    ...(tokens.verifier === 0 ? [] : [phase('verifier', tokens.verifier, seconds.verifier, flops.verifier)]),
    ...(seconds.execute === 0 ? [] : [`tool ${duration(seconds.execute)}`]),
    phase('training', tokens.trained, seconds.training, flops.training),
  ];
  return [
    ...(said.length === 0 ? [] : [`votes   mean over the steps: ${said.join(', ')}`]),
    `cost    ${spent.join('; ')}`,
  ];
}
