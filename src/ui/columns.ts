/** The line of a step: which metrics, under which word, in which form. */

import type { Metrics } from '../run/events.js';
import { clock, compact, count, fixed, percent } from './format.js';
import { secondsLeft, type UiState } from './ink/state.js';
import { pad } from './text.js';

interface Column {
  title: string;
  /** Shown when a step has it. */
  metric: string;
  width: number;
  show: (value: number) => string;
}

const COLUMNS: readonly Column[] = [
  { title: 'loss', metric: 'loss/mean', width: 8, show: (value) => fixed(value, 4) },
  { title: 'R', metric: 'reward/mean', width: 7, show: reward },
  { title: 'log R', metric: 'reward/log_mean', width: 8, show: (value) => fixed(value, 2) },
  { title: 'border', metric: 'border/rate', width: 9, show: (value) => percent(value) },
  { title: 'winner', metric: 'vote/majority_share', width: 9, show: (value) => percent(value) },
  { title: 'label', metric: 'vote/label_accuracy', width: 9, show: (value) => percent(value) },
  { title: 'tokens', metric: 'trace/tokens', width: 8, show: (value) => count(value, 1) },
  { title: '|grad|', metric: 'grad/norm', width: 8, show: compact },
  { title: 'clip', metric: 'ratio/clip_share', width: 7, show: (value) => percent(value) },
  { title: 'mismatch', metric: 'mismatch/max_abs_logprob', width: 10, show: compact },
  { title: 'tok/s', metric: 'tokens_per_s', width: 8, show: (value) => count(value) },
];

/** R is a share for p, and a log-probability of any size for logp. */
function reward(value: number): string {
  return fixed(value, Math.abs(value) < 10 ? 3 : 1);
}

const STEP_WIDTH = 6;
const LEFT_WIDTH = 9;

/** The heading over lines of steps like this one. */
export function stepHeading(metrics: Metrics): string {
  const titles = present(metrics).map(({ title, width }) => pad(title, width, 'right'));
  return pad('step', STEP_WIDTH, 'right') + titles.join('') + pad('left', LEFT_WIDTH, 'right');
}

/** The line of the newest step; `state` already holds it. */
export function stepLine(step: number, metrics: Metrics, state: UiState): string {
  const cells = present(metrics).map(({ metric, width, show }) =>
    pad(show(metrics[metric]!), width, 'right'),
  );
  const left = secondsLeft(state);
  const shown = left === null ? '–' : clock(left);
  return pad(count(step), STEP_WIDTH, 'right') + cells.join('') + pad(shown, LEFT_WIDTH, 'right');
}

function present(metrics: Metrics): Column[] {
  return COLUMNS.filter(({ metric }) => metric in metrics);
}
