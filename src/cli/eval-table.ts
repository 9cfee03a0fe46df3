/** Tables of evaluations for the terminal: scores of tasks, their categories, and comparisons. */

import type { Comparison } from '../eval/compare.js';
import type { Scores } from '../eval/score.js';
import type { TaskReport } from '../run/evaluation.js';
import { count, fixed, measured, percent } from '../ui/format.js';
import { table } from './table.js';

type Shown = Pick<TaskReport, 'task' | 'compat'> & Omit<Scores, 'groups' | 'confidenceShare' | 'seconds'>;

/** A line a task; then vote and pass@k, other harnesses' rules, and categories, where there are any. */
export function scoreTable(reports: readonly Shown[]): string[] {
  const heading = [
    ...['task', '>n', '>accuracy', '>macro', '>no answer', '>truncated', '>tokens'],
    ...['>confidence', '>ρ', '>tok/s'],
  ];
  const rows = reports.map((report) => [
    report.task,
    report.samples > 1 ? `${count(report.questions)}×${report.samples}` : count(report.questions),
    measured(report.accuracy, report.stderr),
    percent(report.macro),
    percent(report.unparsed),
    percent(report.truncated),
    count(report.tokens, 1),
    fixed(report.confidence, 3),
    fixed(report.confidenceCorrelation, 2),
    count(report.tokensPerSecond),
  ]);
  return [
    ...table(heading, rows),
    ...sampleLines(reports),
    ...compatLines(reports),
    ...categoryLines(reports),
  ];
}

function sampleLines(reports: readonly Shown[]): string[] {
  const several = reports.filter(({ samples }) => samples > 1);
  return several.map(({ task, samples, accuracy, majority, passAt }) => {
    const passes = Object.entries(passAt)
      .filter(([k]) => k !== '1')
      .map(([k, score]) => `pass@${k} ${percent(score)}`);
    return `${task}: mean@${samples} ${percent(accuracy)}, maj@${samples} ${percent(majority)}, ${passes.join(', ')}`;
  });
}

function compatLines(reports: readonly Shown[]): string[] {
  return reports.flatMap(({ task, compat }) =>
    Object.entries(compat).map(
      ([rule, { accuracy, missed, guessed }]) =>
        `${task} by the rule of ${rule}: ${percent(accuracy)} (nothing found ${percent(missed)}, drawn at random ${percent(guessed)})`,
    ),
  );
}

function categoryLines(reports: readonly Shown[]): string[] {
  const rows = reports
    .filter(({ categories }) => categories.length > 1)
    .flatMap(({ task, categories }) =>
      categories.map(({ name, questions, accuracy, stderr }) => [
        task,
        name || '(none)',
        count(questions),
        measured(accuracy, stderr),
      ]),
    );
  return rows.length === 0 ? [] : ['', ...table(['task', 'category', '>n', '>accuracy'], rows)];
}

/** A line a task: both accuracies, the paired difference, and how sure it is. */
export function comparisonTable(comparisons: readonly Comparison[]): string[] {
  const rows = comparisons.map((one) => [
    one.task,
    count(one.questions),
    percent(one.accuracyA),
    percent(one.accuracyB),
    `${one.difference < 0 ? '' : '+'}${fixed(one.difference * 100, 1)} ± ${fixed(one.stderr * 100, 1)}`,
    count(one.betterA),
    count(one.betterB),
    one.p < 1e-4 ? '< 0.0001' : fixed(one.p, 4),
    one.test,
  ]);
  const heading = ['task', '>n', '>A', '>B', '>B - A', '>A better', '>B better', '>p', 'test'];
  const notes = comparisons.flatMap(({ task, onlyA, onlyB, otherPrompt }) => [
    ...(onlyA + onlyB > 0 ? [`${task}: ${onlyA} questions only in A, ${onlyB} only in B are left out`] : []),
    ...(otherPrompt > 0 ? [`${task}: the prompts of ${otherPrompt} questions differ`] : []),
  ]);
  return [...table(heading, rows), ...notes];
}
