/** The static report of a run: one HTML file with curves, settings and traces; it loads nothing. */

import type { Metrics, StartEvent } from '../run/events.js';
import { clock, compact, count, duration, fixed, measured, percent } from './format.js';
import { escapeHtml, htmlTable, page, section } from './html.js';
import { taskScores } from './ink/state.js';

interface Row {
  step: number;
  metrics: Metrics;
}

export interface ReportInput {
  name: string;
  command: string;
  created: string;
  status: string;
  settings: Record<string, unknown>;
  origins: Record<string, string>;
  start: StartEvent | null;
  steps: readonly Row[];
  evals: readonly Row[];
  summary: Record<string, unknown>;
  samples: readonly {
    step: number;
    question: string;
    reference: string;
    traces: readonly { text: string; finish: string; reward: number; advantage: number }[];
  }[];
}

/** Curves, in order, where a run has the metric. */
const CURVES: readonly { metric: string; title: string }[] = [
  { metric: 'loss/mean', title: 'loss' },
  { metric: 'reward/mean', title: 'mean R' },
  { metric: 'reward/log_mean', title: 'mean log R' },
  { metric: 'border/rate', title: 'traces with a border' },
  { metric: 'vote/majority_share', title: "winner's share of the vote" },
  { metric: 'vote/label_accuracy', title: 'label accuracy' },
  { metric: 'vote/flips', title: 'labels that verified votes changed' },
  { metric: 'verifier/precision', title: 'precision of the verifier' },
  { metric: 'trace/tokens', title: 'tokens a trace' },
  { metric: 'groups/zero_variance', title: 'groups without signal' },
  { metric: 'grad/norm', title: 'gradient norm' },
  { metric: 'mismatch/max_abs_logprob', title: 'sampler against learner, greatest difference' },
  { metric: 'tokens_per_s', title: 'tokens a second' },
];

/** The whole document. */
export function renderReport(run: ReportInput): string {
  const sections = [
    heading(run),
    section('Evaluations', evaluations(run)),
    section('Curves', CURVES.map(({ metric, title }) => curve(title, metric, run.steps)).join('')),
    section('Settings', settings(run)),
    section('Last traces', run.samples.map(sample).join('')),
    section('Last step', metricTable(run.steps.at(-1))),
  ];
  return page(run.name, sections);
}

function heading(run: ReportInput): string {
  const last = run.steps.at(-1)?.step ?? 0;
  const version = run.start === null ? '' : ` · vf ${run.start.version} · ${run.start.device}`;
  const time = typeof run.summary.seconds === 'number' ? ` · ${duration(run.summary.seconds)}` : '';
  const facts = `vf ${run.command} · ${run.status} · ${count(last)} steps${time} · begun ${run.created}${version}`;
  const rows = (run.start?.banner ?? []).map(({ label, value }) => [label, escapeHtml(value)]);
  return `<h1>${escapeHtml(run.name)}</h1><p>${escapeHtml(facts)}</p>${rows.length === 0 ? '' : htmlTable([], rows)}`;
}

function evaluations(run: ReportInput): string {
  const rows = run.evals.flatMap(({ step, metrics }) =>
    taskScores(metrics).map(({ task, accuracy, error, unparsed, confidence }) => [
      count(step),
      escapeHtml(task),
      measured(accuracy, error),
      percent(unparsed),
      percent(confidence),
    ]),
  );
  if (rows.length === 0) return '';
  const tasks = [...new Set(run.evals.flatMap(({ metrics }) => taskScores(metrics).map(({ task }) => task)))];
  const curves = tasks.map((task) => curve(`accuracy, ${task}`, `eval/${task}/accuracy`, run.evals)).join('');
  const notes = tasks.map((task) => correlationNote(task, run.evals)).join('');
  return htmlTable(['step', 'task', 'accuracy', 'no answer', 'confidence'], rows) + curves + notes;
}

/** ρ of the paper (§3.2): accuracy against mean confidence over the evaluations of the run. */
function correlationNote(task: string, evals: readonly Row[]): string {
  const points = evals.flatMap(({ metrics }) =>
    taskScores(metrics).filter((score) => score.task === task && score.confidence !== undefined),
  );
  const rho = correlation(
    points.map((p) => p.accuracy),
    points.map((p) => p.confidence!),
  );
  if (rho === null) return '';
  const what = `correlation of accuracy with mean confidence over ${points.length} evaluations`;
  return `<p>${escapeHtml(task)}: ρ = ${fixed(rho, 3)}, the ${what}</p>`;
}

/** Pearson's correlation; null under three points, or where either side does not vary. */
export function correlation(a: readonly number[], b: readonly number[]): number | null {
  if (a.length < 3 || a.length !== b.length) return null;
  const mean = (list: readonly number[]) => list.reduce((sum, x) => sum + x, 0) / list.length;
  const [ma, mb] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [da, db] = [a[i]! - ma, b[i]! - mb];
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return aa === 0 || bb === 0 ? null : ab / Math.sqrt(aa * bb);
}

const PLOT = { width: 420, height: 140, left: 56, right: 8, top: 8, bottom: 20 };
/** Points drawn at most; more are averaged in equal stretches. */
const DRAWN = 400;

/** One curve as SVG with its caption, or nothing where the run lacks the metric. */
export function curve(title: string, metric: string, rows: readonly Row[]): string {
  const points = rows
    .map(({ step, metrics }) => ({ x: step, y: metrics[metric] ?? Number.NaN }))
    .filter(({ y }) => Number.isFinite(y));
  if (points.length === 0) return '';
  const drawn = thinned(points);
  const [x0, x1] = [points[0]!.x, points.at(-1)!.x];
  const low = Math.min(...drawn.map(({ y }) => y));
  const high = Math.max(...drawn.map(({ y }) => y));
  const span = high - low || Math.abs(high) || 1;
  const { width, height, left, right, top, bottom } = PLOT;
  const px = (x: number) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right);
  const py = (y: number) => top + (1 - (y - low) / span) * (height - top - bottom);
  const path = drawn.map(({ x, y }) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(' ');
  const only = drawn.length === 1 ? `<circle cx="${px(x0)}" cy="${py(drawn[0]!.y)}" r="3"/>` : '';
  const base = height - bottom;
  return `<figure><svg width="${width}" height="${height}" role="img" aria-label="${escapeHtml(title)}">
<line x1="${left}" y1="${base}" x2="${width - right}" y2="${base}"/><polyline points="${path}"/>${only}
<text x="${left - 4}" y="${top + 8}" text-anchor="end">${compact(high)}</text>
<text x="${left - 4}" y="${base}" text-anchor="end">${compact(low)}</text>
<text x="${left}" y="${height - 6}">${count(x0)}</text>
<text x="${width - right}" y="${height - 6}" text-anchor="end">${count(x1)}</text>
</svg><figcaption>${escapeHtml(title)}: ${compact(points[0]!.y)} → ${compact(points.at(-1)!.y)}</figcaption></figure>`;
}

function thinned(points: { x: number; y: number }[]): { x: number; y: number }[] {
  if (points.length <= DRAWN) return points;
  return Array.from({ length: DRAWN }, (_, i) => {
    const part = points.slice(
      Math.floor((i * points.length) / DRAWN),
      Math.floor(((i + 1) * points.length) / DRAWN),
    );
    return { x: part.at(-1)!.x, y: part.reduce((sum, { y }) => sum + y, 0) / part.length };
  });
}

function settings(run: ReportInput): string {
  const rows = Object.entries(run.settings).map(([name, value]) => [
    escapeHtml(name),
    escapeHtml(typeof value === 'string' ? value : JSON.stringify(value)),
    escapeHtml(run.origins[name] ?? 'default'),
  ]);
  return rows.length === 0 ? '' : htmlTable(['name', 'value', 'from'], rows);
}

function sample({ step, question, reference, traces }: ReportInput['samples'][number]): string {
  const list = traces.map(({ text, finish, reward, advantage }) => {
    const facts = `R ${compact(reward)} · advantage ${compact(advantage)} · ${finish}`;
    return `<p>${escapeHtml(facts)}</p><pre>${escapeHtml(text)}</pre>`;
  });
  return `<details><summary>step ${count(step)}: ${escapeHtml(question)} <b>${escapeHtml(reference)}</b></summary>${list.join('')}</details>`;
}

function metricTable(row: Row | undefined): string {
  if (row === undefined) return '';
  const seconds = /^time\//;
  const rows = Object.entries(row.metrics).map(([name, value]) => [
    escapeHtml(name),
    seconds.test(name) && value >= 60 ? clock(value) : compact(value),
  ]);
  return htmlTable(['metric', `step ${count(row.step)}`], rows);
}
