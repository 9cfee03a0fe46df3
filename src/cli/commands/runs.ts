/** `vf runs list | show | compare | report`: looks at run folders. */

import type { OptionTable } from '../../config/option.js';
import { pick } from '../../config/option.js';
import { OUTPUT_OPTIONS } from '../../config/options/run.js';
import { resolveTable } from '../../config/resolve.js';
import { VfError } from '../../errors.js';
import { listRuns, RUNS_ROOT } from '../../run/folder.js';
import { compact, count, measured } from '../../ui/format.js';
import { taskScores } from '../../ui/ink/state.js';
import type { Call, CliCommand } from '../command.js';
import { writeErr, writeOut } from '../output.js';
import { writeReport } from '../report-file.js';
import { findRun, type MetricRow, type RunRecord, readRun } from '../run-record.js';
import { table } from '../table.js';

const JSON_ONLY = pick(OUTPUT_OPTIONS, 'json');
const LIST_OPTIONS = {
  root: {
    type: 'text',
    default: RUNS_ROOT,
    transient: true,
    group: 'run',
    placeholder: 'folder',
    help: 'where to look',
  },
  ...JSON_ONLY,
} as const satisfies OptionTable;

/** The metrics a person looks at first, where a run has them. */
const SHOWN_METRICS = [
  'loss/mean',
  'reward/mean',
  'reward/log_mean',
  'border/rate',
  'vote/label_accuracy',
  'trace/tokens',
  'grad/norm',
  'tokens_per_s',
] as const;

function print(lines: readonly string[]): void {
  writeOut(lines.map((line) => `${line}\n`).join(''));
}

async function runList({ flags }: Call): Promise<void> {
  const { root, json } = resolveTable(LIST_OPTIONS, { flags, env: process.env });
  const runs = listRuns(root).map(({ folder }) => readRun(folder));
  if (json) return writeOut(`${JSON.stringify({ runs: runs.map(brief) })}\n`);
  if (runs.length === 0) return writeErr(`there is no run under ${root}/\n`);
  const rows = runs.map((run) => [
    run.folder,
    run.created.slice(0, 16).replace('T', ' '),
    run.status,
    `${lastStep(run)}${run.start?.steps === undefined ? '' : `/${run.start.steps}`}`,
    lastScore(run),
  ]);
  print(table(['run', 'begun', 'status', '>step', 'last evaluation'], rows));
}

function brief(run: RunRecord): Record<string, unknown> {
  const { folder, command, created, status } = run;
  return { folder, command, created, status, step: lastStep(run), metrics: run.steps.at(-1)?.metrics ?? {} };
}

function lastStep(run: RunRecord): number {
  return run.steps.at(-1)?.step ?? 0;
}

function lastScore(run: RunRecord): string {
  const last = run.evals.at(-1);
  if (last === undefined) return '';
  return taskScores(last.metrics)
    .map(({ task, accuracy, error }) => `${task} ${measured(accuracy, error)}`)
    .join(', ');
}

async function runShow({ args, flags }: Call): Promise<void> {
  const { json } = resolveTable(JSON_ONLY, { flags, env: process.env });
  const run = readRun(findRun(args[0] ?? null));
  if (json) return writeOut(`${JSON.stringify(run)}\n`);
  const set = Object.entries(run.settings).filter(([name]) => (run.origins[name] ?? 'default') !== 'default');
  print([
    `${run.folder}   vf ${run.command}, ${run.status}, begun ${run.created.slice(0, 16).replace('T', ' ')}`,
    ...(run.start === null ? [] : run.start.banner.map(({ label, value }) => `${label.padEnd(7)} ${value}`)),
    '',
    ...table(
      ['setting', 'value', 'from'],
      set.map(([name, value]) => [name, shown(value), run.origins[name]!]),
    ),
    '',
    ...table(['evaluation', '>accuracy'], scoreRows(run)),
    '',
    ...metricRows(run),
    '',
    run.checkpoint === null ? 'no checkpoint yet' : `model   ${run.checkpoint.folder}`,
  ]);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function scoreRows(run: RunRecord): string[][] {
  return run.evals.flatMap(({ step, metrics }) =>
    taskScores(metrics).map(({ task, accuracy, error }) => [
      `${task} at step ${count(step)}`,
      measured(accuracy, error),
    ]),
  );
}

function metricRows(run: RunRecord): string[] {
  const first = run.steps[0];
  const last = run.steps.at(-1);
  if (first === undefined || last === undefined) return ['no step yet'];
  const rows = SHOWN_METRICS.filter((name) => name in last.metrics).map((name) => [
    name,
    compact(first.metrics[name]),
    compact(last.metrics[name]),
  ]);
  return table(['metric', `>step ${first.step}`, `>step ${last.step}`], rows);
}

async function runCompare({ args, flags }: Call): Promise<void> {
  const { json } = resolveTable(JSON_ONLY, { flags, env: process.env });
  if (args.length < 2) throw new VfError('VF_USAGE', 'vf runs compare needs two runs or more');
  const runs = args.map((given) => readRun(findRun(given)));
  const names = runs.map(({ name }) => name);
  const settings = differing(runs);
  const last = runs.map((run) => merged(run.evals.at(-1), run.steps.at(-1)));
  if (json) return writeOut(`${JSON.stringify({ runs: runs.map(brief), settings })}\n`);
  const right = names.map((name) => `>${name}`);
  const metrics = [...new Set(last.flatMap((row) => Object.keys(row)))].filter(isCompared).sort();
  print([
    ...table(
      ['setting', ...right],
      Object.entries(settings).map(([name, values]) => [name, ...values.map(shown)]),
    ),
    '',
    ...table(
      ['last metric', ...right],
      metrics.map((name) => [name, ...last.map((row) => compact(row[name]))]),
    ),
  ]);
}

function isCompared(name: string): boolean {
  return name.startsWith('eval/') || (SHOWN_METRICS as readonly string[]).includes(name);
}

function merged(...rows: (MetricRow | undefined)[]): Record<string, number> {
  return Object.assign({}, ...rows.map((row) => row?.metrics ?? {}));
}

/** Settings that are not the same in all runs: name → the value in each. */
function differing(runs: readonly RunRecord[]): Record<string, unknown[]> {
  const names = new Set(runs.flatMap(({ settings }) => Object.keys(settings)));
  const rows = [...names].map((name) => [name, runs.map(({ settings }) => settings[name] ?? null)] as const);
  return Object.fromEntries(
    rows.filter(([, values]) => new Set(values.map((v) => JSON.stringify(v))).size > 1),
  );
}

async function runReport({ args, flags }: Call): Promise<void> {
  const { json } = resolveTable(JSON_ONLY, { flags, env: process.env });
  const report = writeReport(findRun(args[0] ?? null));
  writeOut(json ? `${JSON.stringify({ report })}\n` : `${report}\n`);
}

const RUN = {
  name: 'RUN',
  help: 'a run folder, or its name under runs/; the newest when left out',
  optional: true,
};

export const commands: readonly CliCommand[] = [
  {
    name: 'runs list',
    about: 'The runs here, oldest first.',
    examples: ['vf runs list', 'vf runs list --json | jq .runs'],
    options: LIST_OPTIONS,
    run: runList,
  },
  {
    name: 'runs show',
    about: 'Settings that differ from the defaults, evaluations and metrics of one run.',
    arguments: [RUN],
    examples: ['vf runs show', 'vf runs show runs/train-1201-2146-7f3a'],
    options: JSON_ONLY,
    run: runShow,
  },
  {
    name: 'runs compare',
    about: 'What differs between runs: settings and last metrics.',
    arguments: [{ name: 'RUN', help: 'two runs or more', many: true }],
    examples: ['vf runs compare train-1201-2146-7f3a train-1201-2201-09bc'],
    options: JSON_ONLY,
    run: runCompare,
  },
  {
    name: 'runs report',
    about: 'Writes report.html of a run again and prints its path.',
    arguments: [RUN],
    examples: ['vf runs report'],
    options: JSON_ONLY,
    run: runReport,
  },
];
