/** The live frame as lines of text: what is drawn, apart from how. */

import { clock, compact, count, fixed, measured, percent } from '../format.js';
import { progressLine } from '../lines.js';
import { cut, oneLine, pad, visible, wrap } from '../text.js';
import { bar, sparkline } from './chart.js';
import { secondsLeft, series, taskScores, totalSteps, type UiState } from './state.js';

export interface FrameLine {
  text: string;
  tone: 'plain' | 'dim' | 'bold';
}

/** Curves with a fixed range are shares; others span their own values. */
const CURVES: readonly { label: string; metric: string; share: boolean; show: (value: number) => string }[] =
  [
    { label: 'loss', metric: 'loss/mean', share: false, show: (value) => fixed(value, 4) },
    { label: 'R', metric: 'reward/mean', share: false, show: (value) => fixed(value, 3) },
    { label: 'border', metric: 'border/rate', share: true, show: percent },
    { label: 'winner', metric: 'vote/majority_share', share: true, show: percent },
    { label: 'label', metric: 'vote/label_accuracy', share: true, show: percent },
    { label: 'tokens', metric: 'trace/tokens', share: false, show: (value) => count(value, 1) },
  ];

const LABEL = 9;
const VALUE = 16;
const SAMPLE_LINES = 6;

/** The frame for a terminal of this width; never wider than `columns - 1`. */
export function frameLines(state: UiState, columns: number): FrameLine[] {
  const room = Math.max(20, columns - 1);
  if (state.end !== null) return [];
  if (state.start === null) return [{ text: cut(progressLine(state) ?? 'starting', room), tone: 'dim' }];
  const lines = [
    progress(state, room),
    ...curves(state, room),
    ...accuracy(state, room),
    ...trace(state, room),
  ];
  lines.push({ text: 'Ctrl-C: finish the step and save; twice: leave now', tone: 'dim' });
  return lines.map(({ text, tone }) => ({ text: cut(text, room), tone }));
}

function progress(state: UiState, room: number): FrameLine {
  const last = state.steps.at(-1);
  const total = totalSteps(state);
  const step = last?.step ?? state.start?.resumedFrom ?? 0;
  const left = secondsLeft(state);
  const parts = [`step ${count(step)}${total === null ? '' : ` of ${count(total)}`}`];
  if (left !== null) parts.push(`${clock(left)} left`);
  if (last !== undefined && 'tokens_per_s' in last.metrics) {
    parts.push(`${count(last.metrics.tokens_per_s!)} tok/s`);
  }
  if (last !== undefined && 'grad/norm' in last.metrics)
    parts.push(`|grad| ${compact(last.metrics['grad/norm'])}`);
  parts.push(progressLine(state) ?? '');
  const filled = total === null ? '' : `${bar(step / total, Math.min(24, Math.floor(room / 4)))} `;
  return { text: filled + parts.filter((part) => part !== '').join(' · '), tone: 'bold' };
}

function curves(state: UiState, room: number): FrameLine[] {
  return CURVES.flatMap(({ label, metric, share, show }) => {
    const values = series(state, metric);
    if (values.length === 0) return [];
    const line = sparkline(values, room - LABEL - VALUE, ...(share ? [0, 1] : []));
    return [{ text: pad(label, LABEL) + pad(show(values.at(-1)!), VALUE) + line, tone: 'plain' } as const];
  });
}

function accuracy(state: UiState, room: number): FrameLine[] {
  const last = state.evals.at(-1);
  if (last === undefined) return [];
  return taskScores(last.metrics).map(({ task, accuracy: now, error }) => {
    const name = `eval/${task}/accuracy`;
    const values = state.evals.flatMap(({ metrics }) => (name in metrics ? [metrics[name]!] : []));
    const line = sparkline(values, room - LABEL - VALUE - task.length - 2, 0, 1);
    return {
      text: `${pad('accuracy', LABEL)}${pad(measured(now, error), VALUE)}${line}  ${task}`,
      tone: 'plain',
    };
  });
}

function trace(state: UiState, room: number): FrameLine[] {
  const { sample } = state;
  const shown = sample?.traces[0];
  if (sample === null || shown === undefined) return [];
  const facts = `R ${compact(shown.reward)} · ${shown.finish} · reference ${oneLine(sample.reference)}`;
  const body = wrap(visible(shown.text).replace(/\t/g, ' '), room - 2);
  const kept = body.length > SAMPLE_LINES ? [...body.slice(0, SAMPLE_LINES - 1), '…'] : body;
  return [
    { text: '', tone: 'plain' },
    { text: cut(oneLine(sample.question), room), tone: 'bold' },
    { text: facts, tone: 'dim' },
    ...kept.map((line): FrameLine => ({ text: `  ${line}`, tone: 'plain' })),
    { text: '', tone: 'plain' },
  ];
}
