/** The probe: does this model on this data carry any signal? Samples groups, makes gradients, updates nothing. */

import type { StepPlan } from '../objective/objective.js';
import type { RolloutStats } from '../rollout/sample.js';
import type { Group } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { type LoopParts, rollout, stepArgs } from './loop.js';

export interface ProbeResult {
  metrics: Metrics;
  /** One sentence each, most useful first. */
  advice: string[];
}

/** Samples `promptsPerStep` groups at step 1 and measures each term's gradient. The weights stay as they are. */
export async function probe(parts: LoopParts): Promise<ProbeResult> {
  const { groups, stats } = await rollout(parts, 1);
  return measureSignal(parts, groups, await parts.objective.plan(groups, 1), stats);
}

/** What sampled groups have to say before any update: ends, log R, advantages, the gradient of each term, time, memory. */
export async function measureSignal(
  parts: LoopParts,
  groups: readonly Group[],
  plan: StepPlan,
  stats: RolloutStats,
): Promise<ProbeResult> {
  const once = { ...plan, epochs: 1, miniBatches: 1, klCoefficient: 0 };
  const norms: Metrics = {};
  let metrics: Metrics = plan.metrics;
  for (const terms of ['both', 'reasoning', 'answer'] as const) {
    const result = await parts.policy.step(stepArgs(parts, once, 1, 0, { terms, update: false }));
    norms[`grad/norm_${terms}`] = result.gradNorms[0] ?? 0;
    if (terms !== 'both') continue;
    metrics = {
      ...metrics,
      ...parts.objective.metrics(plan, result, stats),
      'time/train': result.seconds,
      ...byAnswerLength(groups, result.logReward),
    };
  }
  metrics = {
    ...metrics,
    ...norms,
    'groups/with_signal': 1 - (metrics['groups/zero_variance'] ?? 0),
    'time/decode': stats.decodeSeconds + stats.prefillSeconds + stats.continuationSeconds,
    'memory/resident_gib': process.memoryUsage().rss / 2 ** 30,
  };
  return { metrics, advice: adviceFor(metrics) };
}

/** Mean log R of answers by patch length, in buckets of 8 tokens. */
function byAnswerLength(
  groups: readonly { patches: Int32Array[]; traces: readonly unknown[] }[],
  logReward: Float32Array,
): Metrics {
  const buckets = new Map<number, number[]>();
  let trace = 0;
  for (const { patches, traces } of groups) {
    const bucket = Math.floor(Math.max(0, ...patches.map((patch) => patch.length)) / 8) * 8;
    for (let i = 0; i < traces.length; i++, trace++) {
      const value = logReward[trace]!;
      if (Number.isFinite(value)) buckets.set(bucket, [...(buckets.get(bucket) ?? []), value]);
    }
  }
  return Object.fromEntries(
    [...buckets].map(([from, values]) => [
      `reward/log_mean_${from}_to_${from + 7}_tokens`,
      values.reduce((a, b) => a + b, 0) / values.length,
    ]),
  );
}

/** Plain advice from what was measured. */
export function adviceFor(metrics: Metrics): string[] {
  const of = (name: string) => metrics[name] ?? 0;
  const advice: string[] = [];
  if (of('border/rate') < 0.2 && of('trace/truncated') < 0.5) {
    advice.push(
      'few traces reach the border: warm the model up on the answer form first (vf sft), or use an instruct model',
    );
  }
  if (of('trace/truncated') >= 0.25) {
    advice.push('many traces are cut: raise --max-tokens');
  }
  if (of('reward/underflows') > 0 || of('reward/log_mean') < -20) {
    advice.push(
      'R vanishes on long answers: try --reward p_mean, or drop long references (vf data filter --max-answer-tokens 7)',
    );
  }
  if (of('groups/with_signal') < 0.1) {
    advice.push(
      'under 10 % of groups have an advantage: raise --group-size, or choose questions the model sometimes gets right',
    );
  }
  if (advice.length === 0) advice.push('the groups carry signal: train');
  return advice;
}
