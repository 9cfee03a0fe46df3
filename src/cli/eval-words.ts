/** What an evaluation says of itself: warnings about data and prompts, the metrics of its events, its summary. */

import type { Scores } from '../eval/score.js';
import type { Task } from '../eval/task.js';
import type { TaskReport } from '../run/evaluation.js';
import type { Emit, Metrics } from '../run/events.js';
import { count } from '../ui/format.js';
import type { TaskData } from './eval-data.js';
import type { ReadyTask } from './eval-task.js';

/** Says where the data differ from the published set. */
export function warnAboutData(emit: Emit, task: Task, { items }: TaskData): void {
  const warn = (code: string, message: string) => emit({ event: 'warning', code, message });
  if (task.rows !== null && items.length !== task.rows) {
    warn(
      'VF_ROWS',
      `${task.name} has ${count(items.length)} questions here, ${count(task.rows)} as published`,
    );
  }
  const twice = items.filter(({ options }) => options && new Set(options).size < options.length).length;
  if (twice > 0)
    warn('VF_EQUAL_OPTIONS', `questions of ${task.name} with two equal options: ${count(twice)}`);
}

/** Says which questions are left out, and which replies have less room than asked for. */
export function warnAboutPrompts(emit: Emit, { task, prepared, dropped, own }: ReadyTask): void {
  const warn = (code: string, message: string) => emit({ event: 'warning', code, message });
  for (const [reason, left] of Object.entries(dropped)) {
    warn('VF_DROPPED', `questions of ${task.name} that are left out: ${count(left)} ${reason}`);
  }
  const cut = prepared.filter(({ maxTokens }) => maxTokens < own.maxTokens).length;
  if (cut > 0) {
    const least = Math.min(...prepared.map(({ maxTokens }) => maxTokens));
    warn(
      'VF_CUT',
      `the model's positions leave replies to ${count(cut)} questions of ${task.name} less than ${count(own.maxTokens)} tokens, at least ${count(least)}`,
    );
  }
}

/** What metrics are made of: a report's scores. */
export type Scored = Scores & Pick<TaskReport, 'metric' | 'compat' | 'overlap'>;

/** The report's numbers under the names of events and metrics.jsonl; times are left to the report. */
export function taskMetrics(report: Scored): Metrics {
  const { accuracy, stderr, macro, questions, unparsed, truncated, tokens, samples } = report;
  const own: Metrics = { accuracy, stderr, macro, questions, unparsed, truncated, tokens };
  if (report.confidence !== null) own.confidence = report.confidence;
  if (report.confidenceCorrelation !== null) own.confidence_correlation = report.confidenceCorrelation;
  for (const [k, score] of Object.entries(report.passAt)) own[`pass@${k}`] = score;
  if (samples > 1) own[`mean@${samples}`] = accuracy;
  if (report.majority !== null) own[`maj@${samples}`] = report.majority;
  for (const [rule, score] of Object.entries(report.compat)) own[`compat/${rule}`] = score.accuracy;
  if (report.overlap !== null) own.overlapping = report.overlap.overlapping / questions;
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => [`eval/${report.metric}/${name}`, value]),
  );
}

/** A report without its long parts. */
export function brief(report: TaskReport): Record<string, unknown> {
  const { categories: _, groups: __, prompt: ___, ...rest } = report;
  return rest;
}
