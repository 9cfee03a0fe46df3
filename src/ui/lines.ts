/** The lines around the steps: first screen, evaluations, warnings and the last screen. Plain and live share them. */

import type { Metrics } from '../run/events.js';
import { compact, count, duration, fixed, measured, percent } from './format.js';
import { evalLabel, firstAccuracy, taskScores, totalSteps, type UiState } from './ink/state.js';
import { oneLine, pad } from './text.js';

const LABEL = 16;

/** What will happen, with which values, and where the result will be. */
export function bannerLines(state: UiState): string[] {
  const { start } = state;
  if (start === null) return [];
  const rows = start.banner.map(({ label, value }) => `${pad(label, 7)} ${oneLine(value)}`);
  const again = start.resumedFrom === undefined ? [] : [`resumed at step ${count(start.resumedFrom)}`];
  const folder =
    start.folder === null
      ? []
      : [`run     ${start.folder}   (Ctrl-C: finish the step and save; twice: leave now)`];
  return [`vf ${start.version} · ${start.command} · ${start.device}`, ...rows, ...folder, ...again];
}

/** One line a task for the newest evaluation. */
export function evalLines(state: UiState): string[] {
  const point = state.evals.at(-1);
  if (point === undefined) return [];
  return taskScores(point.metrics).map(({ task, accuracy, error, unparsed }) => {
    const parts = [`${task} ${measured(accuracy, error)}`];
    const first = firstAccuracy(state, task);
    if (first !== null && first.step !== point.step) parts.push(gain(accuracy - first.accuracy));
    if (unparsed !== undefined) parts.push(`no answer ${percent(unparsed)}`);
    const last = point.step > 0 && point.step === totalSteps(state);
    if (last && state.startedAt !== null) parts.push(duration((point.time - state.startedAt) / 1000));
    const label = evalLabel(state, point.step);
    return (label === '' ? '' : pad(label, LABEL)) + parts.join('   ');
  });
}

function gain(change: number): string {
  return `(${change < 0 ? '' : '+'}${fixed(change * 100, 1)})`;
}

/** What came out and what to do next. Empty for a failure: its own message says it all. */
export function endLines(state: UiState): string[] {
  const { end, checkpoint } = state;
  if (end === null || end.failed) return [];
  const lines: string[] = [];
  const warnings = Object.values(state.warnings).filter(({ times }) => times > 1);
  for (const { message, times } of warnings)
    lines.push(`warning (${count(times)} times): ${oneLine(message)}`);
  const { report, next, resume, advice, metrics, table } = end.summary;
  if (Array.isArray(table)) lines.push(...table.map((line) => oneLine(String(line))), '');
  if (typeof metrics === 'object' && metrics !== null) lines.push(...metricLines(metrics as Metrics), '');
  if (Array.isArray(advice)) lines.push(...advice.map((line) => oneLine(String(line))));
  if (typeof resume === 'string') {
    const saved =
      checkpoint === null ? 'stopped' : `saved at step ${count(checkpoint.step)}: ${checkpoint.path}`;
    lines.push(saved, `resume  ${resume}`);
  }
  if (typeof report === 'string') lines.push(`report  ${report}`);
  if (Array.isArray(next)) {
    for (const [index, command] of next.entries())
      lines.push(`${index === 0 ? 'next' : '    '}    ${String(command)}`);
  }
  return lines.length === 0 ? [] : ['', ...lines];
}

/** What the first groups say before any update: the probe's figures, two or three lines. */
export function signalLines(metrics: Metrics): string[] {
  const of = (name: string) => metrics[name] ?? 0;
  const byLength = Object.entries(metrics).flatMap(([name, value]) => {
    const range = /^reward\/log_mean_(\d+)_to_(\d+)_tokens$/.exec(name);
    return range === null ? [] : [`${range[1]}–${range[2]}: ${fixed(value, 2)}`];
  });
  return [
    `signal  ${percent(of('groups/with_signal'))} of groups with an advantage   border ${percent(of('border/rate'))}   ` +
      `cut ${percent(of('trace/truncated'))}   log R ${fixed(of('reward/log_mean'), 2)}   R underflows ${count(of('reward/underflows'))}`,
    `        |grad| ${compact(of('grad/norm_both'))} (trace ${compact(of('grad/norm_reasoning'))}, answer ` +
      `${compact(of('grad/norm_answer'))})   sampling ${fixed(of('time/decode'), 1)} s   training ${fixed(of('time/train'), 1)} s   ` +
      `memory ${fixed(of('memory/resident_gib'), 1)} GiB`,
    ...(byLength.length > 1 ? [`        log R by patch tokens  ${byLength.join('   ')}`] : []),
  ];
}

/** A line a metric: the probe's answer. */
function metricLines(metrics: Metrics): string[] {
  const width = Math.max(...Object.keys(metrics).map((name) => name.length)) + 2;
  return Object.entries(metrics).map(([name, value]) => pad(name, width) + pad(compact(value), 10, 'right'));
}

/** `sampling: 12 of 128 traces`. */
export function progressLine(state: UiState): string | null {
  const { progress } = state;
  if (progress === null) return null;
  const { phase, done, total, unit } = progress;
  if (total <= 1) return phase;
  return `${phase}: ${count(done)} of ${count(total)} ${unit}`;
}
