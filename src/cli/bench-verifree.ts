/** `vf bench verifree`: the bundled VeriFree runs over bases and seeds, their ablations, and what the base can do without RL. */

import path from 'node:path';
import type { CommandSettings } from '../config/schema.js';
import { invalidValue } from '../errors.js';
import { evaluateQuestions, evaluationMetrics } from '../eval/evaluate.js';
import { CAREFUL_OPENER } from '../recipe/verifree-traces.js';
import { closingTag } from '../text/template.js';
import { DEFAULT_BATCH, DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import { endPoints, finishRun } from './bench-runs.js';
import { listenForInterrupt } from './interrupt.js';
import { type OpenModel, openModel } from './open-model.js';
import { writeErr, writeOut } from './output.js';
import { bundledQuestions, openQuestions, prompter } from './question-set.js';
import { runTrain } from './train-run.js';

type Settings = CommandSettings<'bench'>;

/** What is changed against the full method; the first is none. */
const VARIANTS: readonly { name: string; flags: Record<string, string> }[] = [
  { name: 'full method', flags: {} },
  { name: 'without RLOO (A = R)', flags: { advantage: 'none' } },
  { name: 'without the answer term', flags: { 'answer-weight': 'none' } },
  { name: 'JLB', flags: { objective: 'jlb' } },
  { name: 'rule verifier, Dr. GRPO', flags: { objective: 'verifier', 'length-norm': 'none' } },
];

interface Row {
  base: string;
  variant: string;
  seed: number;
  before: number;
  after: number;
  seconds: number;
}

/** Runs what is not there yet below `--out` and prints the tables. `--bases name=path` adds bases to the bundled one. */
export async function benchVerifree(settings: Settings): Promise<void> {
  const seeds = settings.seeds.split(',').map((word) => {
    if (/^\d+$/.test(word.trim())) return Number(word);
    throw invalidValue('--seeds', 'whole numbers separated by commas', settings.seeds);
  });
  const bases = Object.entries({ bundled: 'bundled', ...settings.bases });
  const interrupt = listenForInterrupt({ onFirst: () => writeErr('finishing the step and saving\n') });
  const rows: Row[] = [];
  for (const [base, model] of bases) {
    for (const [index, variant] of VARIANTS.entries()) {
      // Ablations are one run each, on the bundled base.
      const own = index === 0 ? seeds : base === 'bundled' ? seeds.slice(0, 1) : [];
      for (const seed of own) {
        const folder = path.join(settings.out, `${base}-${index}-seed-${seed}`);
        writeErr(`${folder} `);
        const flags = { preset: 'tiny', model, data: 'bundled', seed: String(seed), ...variant.flags };
        await finishRun('train', flags, folder, interrupt, runTrain);
        writeErr('\n');
        if (interrupt.requested !== null) {
          process.exitCode = interrupt.exitCode ?? 0;
          interrupt.dispose();
          return;
        }
        const { before, after, seconds } = endPoints(folder);
        const score = (metrics: Record<string, number>) =>
          metrics['eval/bundled-test/accuracy'] ?? Number.NaN;
        rows.push({ base, variant: variant.name, seed, before: score(before), after: score(after), seconds });
      }
    }
  }
  interrupt.dispose();
  const forced = [];
  for (const [base, model] of bases) forced.push({ base, ...(await forcedScores(model)) });
  if (settings.json) writeOut(`${JSON.stringify({ rows, forced })}\n`);
  else writeOut(`${markdown(rows, forced).join('\n')}\n`);
}

interface Forced {
  greedy: number;
  /** Every trace begins with the careful opener. */
  opener: number;
  /** Every trace is empty: the border at once. */
  empty: number;
}

/** Test accuracy of a base as it is, forced into its best opener, and forced to answer at once. */
async function forcedScores(model: string): Promise<Forced> {
  const opened = await openModel({ model, device: 'cpu', dtype: 'f32', threads: 0 }, { trainable: false });
  const scores = {
    greedy: await forcedScore(opened, ''),
    opener: await forcedScore(opened, CAREFUL_OPENER),
    empty: await forcedScore(opened, opened.template.border),
  };
  await opened.policy.close();
  return scores;
}

async function forcedScore(model: OpenModel, start: string): Promise<number> {
  const { tokenizer, template, policy } = model;
  const { questions } = await openQuestions(bundledQuestions('test'), {}, model, 256);
  const [ids] = start === '' ? [new Int32Array(0)] : await tokenizer.encodeData([start]);
  const plain = prompter(tokenizer, template);
  const judged = await evaluateQuestions({
    policy,
    questions,
    prompt: async (some) =>
      (await plain(some)).map(({ promptIds, patches }) => {
        const joined = new Int32Array(promptIds.length + ids!.length);
        joined.set(promptIds);
        joined.set(ids!, promptIds.length);
        return { promptIds: joined, patches };
      }),
    decode: (reply) => tokenizer.decode(reply, { special: true }),
    settings: {
      seed: 1n,
      maxTokens: 120,
      temperature: 0,
      topP: 1,
      topK: 0,
      eosIds: model.folder.eosIds,
      stops: [closingTag(template)],
      maxBatch: DEFAULT_BATCH,
    },
    border: template.border,
    samples: 1,
    confidence: false,
    microBatchTokens: DEFAULT_MICRO_BATCH,
  });
  return evaluationMetrics('test', judged)['eval/test/accuracy']!;
}

function markdown(rows: readonly Row[], forced: readonly ({ base: string } & Forced)[]): string[] {
  const percent = (value: number) => (100 * value).toFixed(1);
  return [
    '| base | run | seed | test before | test after | gain | training s |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(
      ({ base, variant, seed, before, after, seconds }) =>
        `| ${base} | ${variant} | ${seed} | ${percent(before)} | ${percent(after)} | ${percent(after - before)} | ${seconds.toFixed(0)} |`,
    ),
    '',
    '| base, no RL | greedy | forced into its best opener | forced to an empty trace |',
    '|---|---|---|---|',
    ...forced.map(
      ({ base, greedy, opener, empty }) =>
        `| ${base} | ${percent(greedy)} | ${percent(opener)} | ${percent(empty)} |`,
    ),
  ];
}
