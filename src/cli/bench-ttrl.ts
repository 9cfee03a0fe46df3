/** `vf bench ttrl`: the same test-time run over seeds, weights of a verified vote and verifiers, as one Markdown table. */

import { loadavg } from 'node:os';
import path from 'node:path';
import type { CommandSettings } from '../config/schema.js';
import { invalidValue } from '../errors.js';
import type { Metrics } from '../run/events.js';
import { parseOmega } from '../verify/tally.js';
import { endPoints, finishRun } from './bench-runs.js';
import { listenForInterrupt } from './interrupt.js';
import { writeErr, writeOut } from './output.js';
import { readRun } from './run-record.js';
import { runTtrl } from './ttrl-run.js';

type Settings = CommandSettings<'bench'>;

/** One run of the table. */
export interface TtrlTrial {
  /** As typed: a number or inf. */
  omega: string;
  seed: number;
  /** Name in the table; `default` is the one that --verifier would be. */
  verifier: string;
}

export interface TtrlRow extends TtrlTrial {
  before: Metrics;
  after: Metrics;
  /** Means over the run's steps. */
  steps: Metrics;
  seconds: number;
}

/** Every trial: all ω with the default verifier, then ω = 5 with each named one; each over all seeds. */
export function trialsOf(omegas: string, seeds: string, verifiers: readonly string[]): TtrlTrial[] {
  const list = (text: string) => text.split(',').map((word) => word.trim());
  const numbers = list(seeds).map((word) => {
    if (/^\d+$/.test(word)) return Number(word);
    throw invalidValue('--seeds', 'whole numbers separated by commas', seeds);
  });
  for (const omega of list(omegas)) parseOmega(omega);
  return [
    ...list(omegas).map((omega) => ({ omega, verifier: 'default' })),
    ...verifiers.map((verifier) => ({ omega: '5', verifier })),
  ].flatMap((kind) => numbers.map((seed) => ({ ...kind, seed })));
}

/**
 * Runs what is not there yet below `--out`, one after another, and prints the table. A run that was cut short is
 * continued, a finished one is read: the command can be stopped and started again.
 */
export async function benchTtrl(settings: Settings): Promise<void> {
  const trials = trialsOf(settings.omegas, settings.seeds, Object.keys(settings.verifiers));
  const interrupt = listenForInterrupt({ onFirst: () => writeErr('finishing the step and saving\n') });
  const rows: TtrlRow[] = [];
  for (const trial of trials) {
    const folder = path.join(settings.out, `${trial.verifier}-omega-${trial.omega}-seed-${trial.seed}`);
    writeErr(`${folder} `);
    await finishRun('ttrl', flagsOf(trial, settings), folder, interrupt, runTtrl);
    writeErr('\n');
    if (interrupt.requested !== null) break;
    rows.push(rowOf(trial, folder));
  }
  interrupt.dispose();
  process.exitCode = interrupt.exitCode ?? 0;
  if (interrupt.requested !== null) return;
  if (settings.json) writeOut(`${JSON.stringify({ load: loadavg(), rows })}\n`);
  else writeOut(`${markdown(rows).join('\n')}\n`);
}

function flagsOf(trial: TtrlTrial, settings: Settings): Record<string, string> {
  const named = settings.verifiers[trial.verifier];
  return {
    preset: 'tiny-ttrl',
    model: settings.model,
    omega: trial.omega,
    seed: String(trial.seed),
    tool: settings.tool,
    ...(settings.tool === 'smt' ? { verifier: 'rules' } : {}),
    ...(named === undefined ? {} : { verifier: named }),
    ...(settings.steps > 0 ? { steps: String(settings.steps) } : {}),
    ...(settings.threads > 0 ? { threads: String(settings.threads) } : {}),
  };
}

function rowOf(trial: TtrlTrial, folder: string): TtrlRow {
  const { steps } = readRun(folder);
  const sums: Record<string, { sum: number; count: number }> = {};
  for (const { metrics } of steps) {
    for (const [name, value] of Object.entries(metrics)) {
      const known = sums[name] ?? { sum: 0, count: 0 };
      sums[name] = { sum: known.sum + value, count: known.count + 1 };
    }
  }
  return {
    ...trial,
    ...endPoints(folder),
    steps: Object.fromEntries(Object.entries(sums).map(([name, { sum, count }]) => [name, sum / count])),
  };
}

interface Column {
  title: string;
  of(row: TtrlRow): number | undefined;
  show(value: number): string;
}

const percent = (value: number) => `${(100 * value).toFixed(1)}`;
const score = (title: string, task: string): Column => ({
  title,
  of: ({ after }) => after[`eval/${task}/pass@1`],
  show: percent,
});
const share = (title: string, name: string): Column => ({
  title,
  of: ({ steps }) => steps[name],
  show: percent,
});

const COLUMNS: readonly Column[] = [
  { title: 'before', of: ({ before }) => before['eval/transductive/pass@1'], show: percent },
  score('after', 'transductive'),
  score('biased', 'transductive-biased'),
  score('other', 'transductive-other'),
  { title: 'unseen before', of: ({ before }) => before['eval/held-out/pass@1'], show: percent },
  score('unseen after', 'held-out'),
  score('unseen biased', 'held-out-biased'),
  score('unseen other', 'held-out-other'),
  share('labels right', 'vote/label_accuracy'),
  share('flips', 'vote/flips'),
  share('false popular', 'vote/false_popular'),
  share('wrong after ω', 'vote/false_popular_weighted'),
  share('verifier accuracy', 'verifier/accuracy'),
  share('precision', 'verifier/precision'),
  share('recall', 'verifier/recall'),
  { title: 'seconds', of: ({ seconds }) => seconds, show: (value) => value.toFixed(0) },
];

/** The table: pass@1 and shares in percent, one row a run, and the mean over seeds where there are several. */
export function markdown(rows: readonly TtrlRow[]): string[] {
  const columns = COLUMNS.filter(({ of }) => rows.some((row) => of(row) !== undefined));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cells = (own: readonly TtrlRow[]) =>
    columns.map(({ of, show }) => {
      const values = own.map(of).filter((value) => value !== undefined);
      return values.length === 0 ? '–' : show(values.reduce((a, b) => a + b, 0) / values.length);
    });
  const kinds = [...new Set(rows.map(({ omega, verifier }) => `${omega} ${verifier}`))];
  return [
    line(['ω', 'verifier', 'seed', ...columns.map(({ title }) => title)]),
    line(['---', '---', '---', ...columns.map(() => '---:')]),
    ...kinds.flatMap((kind) => {
      const own = rows.filter(({ omega, verifier }) => `${omega} ${verifier}` === kind);
      const { omega, verifier } = own[0]!;
      const each = own.map((row) => line([omega, verifier, String(row.seed), ...cells([row])]));
      return own.length === 1 ? each : [...each, line([omega, verifier, 'mean', ...cells(own)])];
    }),
  ];
}
