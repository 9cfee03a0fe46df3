/** The static report of an evaluation: scores, categories, confidence and lengths as plots, and a few replies. */

import type { CategoryScore, EvaluationReport, ReplyRow, TaskReport } from '../run/evaluation.js';
import { count, duration, fixed, measured, percent } from './format.js';
import { escapeHtml, htmlTable, page, section } from './html.js';
import { bars, binned, histogram } from './plots.js';

/** Replies shown a task. */
const SHOWN = 6;
/** Bars of one plot; more categories are in the table alone. */
const MOST_BARS = 20;

/** The whole document. `settings` and `origins` by flag name. */
export function renderEvalReport(
  report: EvaluationReport,
  rows: readonly ReplyRow[],
  settings: Readonly<Record<string, unknown>>,
  origins: Readonly<Record<string, string>>,
): string {
  const facts = `vf eval · vf ${report.vf} · ${report.model} · ${report.created}`;
  return page(report.run, [
    `<h1>${escapeHtml(report.run)}</h1><p>${escapeHtml(facts)}</p>`,
    section('Scores', scores(report.tasks)),
    ...report.tasks.map((task) =>
      section(
        escapeHtml(task.task),
        taskBody(
          task,
          rows.filter((row) => row.task === task.task),
        ),
      ),
    ),
    section('Settings', settingsTable(settings, origins)),
  ]);
}

function scores(tasks: readonly TaskReport[]): string {
  const heading = [
    'task',
    'questions',
    'accuracy',
    'macro',
    'no answer',
    'truncated',
    'tokens',
    'confidence',
  ];
  const rows = tasks.map((task) => [
    escapeHtml(task.task),
    count(task.questions),
    measured(task.accuracy, task.stderr),
    percent(task.macro),
    percent(task.unparsed),
    percent(task.truncated),
    count(task.tokens, 1),
    fixed(task.confidence, 3),
  ]);
  return htmlTable(heading, rows);
}

function taskBody(task: TaskReport, rows: readonly ReplyRow[]): string {
  return [
    `<p>${facts(task).map(escapeHtml).join('<br>')}</p>`,
    plots(task, rows),
    categories(task.categories),
    ...Object.entries(task.groups).map(
      ([kind, { macro, groups, scores: own }]) =>
        `<details><summary>${escapeHtml(kind)}: ${count(groups)} groups, their mean ${percent(macro)}</summary>${categories(own)}</details>`,
    ),
    overlap(task),
    `<details><summary>a prompt</summary><pre>${escapeHtml(task.prompt.example)}</pre></details>`,
    ...shownReplies(rows).map(replyBody),
  ].join('');
}

function facts(task: TaskReport): string[] {
  const { samples, majority, sampling, hashes, data, prompt } = task;
  const passes = Object.entries(task.passAt).map(([k, score]) => `pass@${k} ${percent(score)}`);
  const dropped = Object.entries(task.dropped).map(([reason, n]) => `${count(n)} ${reason}`);
  const compat = Object.entries(task.compat).map(
    ([rule, { accuracy, missed, guessed }]) =>
      `by the rule of ${rule} ${percent(accuracy)}: nothing found ${percent(missed)}, drawn at random ${percent(guessed)}`,
  );
  const rho = task.confidenceCorrelation;
  return [
    `${passes.join(', ')}${majority === null ? '' : `, mean@${samples} ${percent(task.accuracy)}, maj@${samples} ${percent(majority)}`}`,
    ...compat,
    ...(task.confidence === null
      ? []
      : [
          `confidence ${fixed(task.confidence, 3)} in ${percent(task.confidenceShare)} of the replies; its correlation with correctness over questions ${fixed(rho, 3)}`,
        ]),
    `${duration(task.seconds)}, ${count(task.tokensPerSecond)} tokens a second`,
    ...(dropped.length === 0 ? [] : [`left out: ${dropped.join('; ')}`]),
    `prompt ${prompt.style}, ${prompt.shots} worked examples, ${prompt.chat ? 'in' : 'no'} chat template; ` +
      `temperature ${sampling.temperature}, top-p ${sampling.topP}, at most ${count(sampling.maxTokens)} tokens, seed ${sampling.seed}`,
    `data ${data.file}${data.revision === null ? '' : ` at ${data.revision}`}`,
    `SHA-256: data ${hashes.data}, prompts ${hashes.prompts}, extractor ${hashes.extractor}`,
  ];
}

function plots(task: TaskReport, rows: readonly ReplyRow[]): string {
  const named = task.categories.length > 1 && task.categories.length <= MOST_BARS ? task.categories : [];
  const known = rows.filter(({ confidence }) => confidence !== null);
  const right = rows.filter(({ correct }) => correct);
  const wrong = rows.filter(({ correct }) => !correct);
  const passes = Object.entries(task.passAt).map(([k, score]) => ({ name: `@${k}`, value: score, error: 0 }));
  return [
    bars(
      'accuracy by category, with its standard error',
      named.map(({ name, accuracy, stderr }) => ({ name, value: accuracy, error: stderr })),
    ),
    passes.length > 1 ? bars('pass@k', passes) : '',
    binned(
      'share of right replies by confidence',
      known.map(({ confidence, correct }) => ({ x: confidence!, y: Number(correct) })),
    ),
    histogram('tokens of a reply: right replies (filled) and wrong ones (outlined)', [
      right.map(({ ids }) => ids.length),
      wrong.map(({ ids }) => ids.length),
    ]),
  ].join('');
}

function categories(list: readonly CategoryScore[]): string {
  if (list.length < 2) return '';
  const rows = list.map(({ name, questions, accuracy, stderr }) => [
    escapeHtml(name || '(none)'),
    count(questions),
    measured(accuracy, stderr),
  ]);
  return htmlTable(['category', 'questions', 'accuracy'], rows);
}

function overlap({ overlap: found, questions }: TaskReport): string {
  if (found === null) return '';
  const { file, words, overlapping, same, cleanAccuracy, examples } = found;
  const text =
    `${count(overlapping)} of ${count(questions)} questions share ${words} words in a row with ${file}, ` +
    `${count(same)} of them equal but for spacing or numbers; accuracy on the others ${percent(cleanAccuracy)}`;
  const rows = examples.map(({ id, kind, share, match }) => [
    escapeHtml(id),
    kind,
    percent(share),
    escapeHtml(match),
  ]);
  return `<p>${escapeHtml(text)}</p>${rows.length === 0 ? '' : htmlTable(['question', 'kind', 'shared', 'match'], rows)}`;
}

/** Half of them wrong, where there are enough. */
function shownReplies(rows: readonly ReplyRow[]): ReplyRow[] {
  const wrong = rows.filter(({ correct }) => !correct).slice(0, SHOWN / 2);
  return [...wrong, ...rows.filter(({ correct }) => correct).slice(0, SHOWN - wrong.length)];
}

function replyBody({ id, answers, answer, correct, text, finish }: ReplyRow): string {
  const head = `${id}: ${correct ? 'right' : 'wrong'}, ${answer === null ? 'no answer' : `answer ${answer}`}, reference ${answers.join(' | ')}, ${finish}`;
  return `<details><summary>${escapeHtml(head)}</summary><pre>${escapeHtml(text)}</pre></details>`;
}

function settingsTable(
  settings: Readonly<Record<string, unknown>>,
  origins: Readonly<Record<string, string>>,
): string {
  const rows = Object.entries(settings).map(([name, value]) => [
    escapeHtml(name),
    escapeHtml(typeof value === 'string' ? value : JSON.stringify(value)),
    escapeHtml(origins[name] ?? 'default'),
  ]);
  return rows.length === 0 ? '' : htmlTable(['name', 'value', 'from'], rows);
}
