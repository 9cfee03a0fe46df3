/** `--eval-tasks`: in training, a task's scores are those that `vf eval` gives the same weights. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { EvaluationReport, TaskReport } from '../../src/run/evaluation.js';
import { scratch } from '../scratch.js';
import { vf } from './vf.js';

const root = scratch('eval-tasks');
const at = (...parts: string[]) => path.join(root, ...parts);

/** The shared copy of GSM8K, or rows of the same form where it is absent. */
function gsm8k(): string {
  const shared = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'gsm8k', 'test.jsonl');
  if (existsSync(shared)) return shared;
  const rows = Array.from({ length: 8 }, (_, i) =>
    JSON.stringify({ question: `Tom has ${i + 2} pens and buys 3. Total?`, answer: `Add.\n#### ${i + 5}` }),
  );
  writeFileSync(at('gsm8k.jsonl'), `${rows.join('\n')}\n`);
  return at('gsm8k.jsonl');
}

type Line = { event: string; step?: number; metrics: Record<string, number> };
const jsonl = (name: string, file: string): Line[] =>
  readFileSync(at(name, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const evals = (name: string) => jsonl(name, 'metrics.jsonl').filter(({ event }) => event === 'eval');

async function run(words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await vf([...words, '--device', 'cpu', '--json']);
  assert.equal(code, 0, stderr);
  return stdout;
}

const TRAIN = ['train', '--preset', 'tiny', '--steps', '2', '--prompts-per-step', '2', '--group-size', '4'];
const TTRL = ['ttrl', '--steps', '1', '--prompts-per-step', '2', '--votes', '4', '--train-samples', '4'];
const SHORT = ['--eval-limit', '6', '--eval-max-tokens', '40'];

const NAMES = ['accuracy', 'stderr', 'unparsed', 'truncated', 'tokens', 'confidence'] as const;

/** The scores of an evaluation in training against those of `vf eval`. */
function assertSameScores(metrics: Record<string, number>, report: TaskReport): void {
  assert.equal(metrics[`eval/${report.metric}/questions`], 6);
  for (const name of NAMES)
    assert.equal(metrics[`eval/${report.metric}/${name}`] ?? null, report[name], `${report.metric} ${name}`);
}

async function evaluated(out: string, words: readonly string[]): Promise<TaskReport[]> {
  await run(['eval', ...words, '--limit', '6', '--max-tokens', '40', '--out', at(out)]);
  return (JSON.parse(readFileSync(at(out, 'report.json'), 'utf8')) as EvaluationReport).tasks;
}

test('vf train measures tasks at step 0, every --eval-every steps and at the end, with the scores of vf eval', async () => {
  const data = gsm8k();
  const tasks = ['--eval-tasks', 'gsm8k, knights', '--eval-data', data, '--eval-every', '1'];
  await run([...TRAIN, ...SHORT, ...tasks, '--out', at('train')]);
  const metrics = evals('train');
  assert.deepEqual(
    metrics.map(({ step }) => step),
    [0, 1, 2],
  );
  for (const row of metrics) {
    assert.ok('eval/gsm8k/accuracy' in row.metrics && 'eval/knights/accuracy' in row.metrics);
    assert.ok('eval/bundled-validation/accuracy' in row.metrics, 'the held-out set of the data stays');
  }
  const before = await evaluated('before', ['gsm8k', 'knights', '--data', data, '--model', 'bundled']);
  assert.equal(before.length, 2);
  for (const report of before) assertSameScores(metrics[0]!.metrics, report);
  const trained = await evaluated('after', ['gsm8k', '--data', data, '--model', at('train')]);
  assertSameScores(metrics[2]!.metrics, trained[0]!);
  const { tasks: kept } = JSON.parse(readFileSync(at('train', 'manifest.json'), 'utf8'));
  assert.deepEqual(
    kept.map(({ sha256, prompts }: { sha256: string; prompts: string }) => ({ sha256, prompts })),
    before.map(({ hashes }) => ({ sha256: hashes.data, prompts: hashes.prompts })),
  );
  assert.match(readFileSync(at('train', 'report.html'), 'utf8'), /accuracy, gsm8k/);
});

test('measuring tasks changes no weight and no sample', async () => {
  await run([...TRAIN, ...SHORT, '--eval-every', '1', '--out', at('bare')]);
  const weights = ['checkpoints', 'step-2', 'model.safetensors'];
  assert.ok(readFileSync(at('bare', ...weights)).equals(readFileSync(at('train', ...weights))));
  assert.deepEqual(jsonl('bare', 'samples.jsonl'), jsonl('train', 'samples.jsonl'));
});

test('vf ttrl samples tasks as its other evaluations: the scores are those of vf eval with the same sampling', async () => {
  const data = at('dates.json');
  const examples = Array.from({ length: 7 }, (_, i) => ({
    input: `Yesterday was May ${i + 1}. What day is today?\nOptions:\n(A) May ${i}\n(B) May ${i + 2}`,
    target: '(B)',
  }));
  writeFileSync(data, JSON.stringify({ examples }));
  const tasks = ['--eval-tasks', 'bbh:date_understanding', '--eval-data', data];
  const drawn = ['--eval-temperature', '0.6', '--eval-top-p', '0.95', '--eval-samples', '2'];
  await run([...TTRL, ...SHORT, ...tasks, ...drawn, '--out', at('ttrl')]);
  const [before] = evals('ttrl');
  assert.ok('eval/transductive/pass@1' in before!.metrics);
  const sampling = ['--temperature', '0.6', '--top-p', '0.95', '--samples', '2'];
  const model = ['--model', path.join('assets', 'tiny-t3rl')];
  const [report] = await evaluated('dates', [
    'bbh:date_understanding',
    '--data',
    data,
    ...model,
    ...sampling,
  ]);
  assertSameScores(before!.metrics, report!);
  assert.equal(before!.metrics['eval/bbh:date_understanding/pass@2'], report!.passAt[2]);
});

test('missing data and an unknown task end before training, with exit code 2 and what to do', async () => {
  const offline = { env: { HF_HUB_OFFLINE: '1', HF_HUB_CACHE: at('empty-cache') } };
  for (const command of [TRAIN, TTRL]) {
    const words = [...command, '--eval-tasks', 'math-500', '--out', at('missing'), '--force'];
    const { code, stdout, stderr } = await vf(words, offline);
    assert.equal(code, 2);
    assert.match(stderr, /no data for math-500/);
    assert.match(stderr, /get it from https:.*--eval-tasks math-500 --eval-data test\.jsonl/);
    assert.doesNotMatch(stdout, /step 0|held/);
  }
  const { code, stderr } = await vf([...TRAIN, '--eval-tasks', 'gsm8', '--out', at('unknown')]);
  assert.equal(code, 2);
  assert.match(stderr, /did you mean gsm8k\?/);
});
