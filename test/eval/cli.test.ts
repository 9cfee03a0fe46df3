/** `vf eval` end to end: files, resume after a kill, stored replies, and a run evaluated as it evaluated itself. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EvaluationReport, ReplyRow } from '../../src/run/evaluation.js';
import { outcome, start, vf } from '../cli/vf.js';
import { scratch } from '../scratch.js';
import { randomModel } from './model.js';

const root = scratch('eval');

const at = (...parts: string[]) => path.join(root, ...parts);
const data = at('gsm.jsonl');
let model: string;

before(() => {
  model = randomModel(at('model'));
  const rows = Array.from({ length: 24 }, (_, i) =>
    JSON.stringify({ question: `What is ${i} + ${i + 1}?`, answer: `Add.\n#### ${2 * i + 1}` }),
  );
  writeFileSync(data, `${rows.join('\n')}\n`);
});

const words = (out: string, ...more: string[]) => [
  ...['eval', 'gsm8k', '--data', data, '--model', model, '--out', at(out), '--device', 'cpu'],
  ...['--samples', '2', '--temperature', '1', '--max-tokens', '300', '--max-batch', '2', ...more],
];

function rowsOf(run: string): ReplyRow[] {
  return readFileSync(at(run, 'replies.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The report without its name and times; the sources that judge may change between two runs of a checkout at work. */
function reportOf(run: string): unknown {
  const report = JSON.parse(readFileSync(at(run, 'report.json'), 'utf8')) as EvaluationReport;
  return report.tasks.map(({ seconds: _, tokensPerSecond: __, hashes, ...task }) => {
    assert.match(hashes.extractor, /^[0-9a-f]{64}$/);
    return { ...task, hashes: { data: hashes.data, prompts: hashes.prompts } };
  });
}

test('every reply is kept with prompt, ids and seed; the report has scores and hashes', async () => {
  const { code, stdout, stderr } = await vf(words('whole', '--compat', 'lm-eval', '--overlap', data));
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\ntask +n +accuracy +macro +no answer/);
  assert.match(stdout, /\ngsm8k +24×2 /);
  const rows = rowsOf('whole');
  assert.equal(rows.length, 48);
  const [first] = rows as [ReplyRow];
  assert.equal(first.prompt, '<|im_start|>What is 0 + 1?<|im_end|>');
  assert.deepEqual([first.answers, first.seed, first.maxTokens], [['1'], 1, 300]);
  assert.ok(rows.every(({ sample, prompt }) => (sample === 0) === (prompt !== undefined)));
  const [task] = reportOf('whole') as EvaluationReport['tasks'];
  assert.deepEqual(Object.keys(task!.passAt), ['1', '2']);
  assert.deepEqual(Object.keys(task!.compat), ['lm-eval', 'lm-eval-flexible']);
  assert.equal(task!.overlap!.overlapping, 24);
  for (const hash of Object.values(task!.hashes)) assert.match(hash, /^[0-9a-f]{64}$/);
  const html = readFileSync(at('whole', 'report.html'), 'utf8');
  assert.match(html, /<svg/);
  assert.doesNotMatch(html, /(src|href)=/);
});

test('kill -9 in the middle, then --resume: no reply is sampled twice and the report is the same', async () => {
  if (!existsSync(at('whole', 'report.json'))) await vf(words('whole'));
  const child = start(words('killed', '--compat', 'lm-eval', '--overlap', data));
  const file = at('killed', 'replies.jsonl');
  const ended = outcome(child);
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0);
  while (lines() < 8 && child.exitCode === null) await sleep(5);
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  const kept = lines();
  assert.ok(kept >= 8 && kept < 48, `${kept} replies at the kill`);
  const text = readFileSync(file, 'utf8');
  const before = text.slice(0, text.lastIndexOf('\n') + 1);
  // What a kill in the middle of a write leaves.
  writeFileSync(file, `${before}{"v":1,"task":"gsm`);
  const resumed = await vf(words('killed', '--compat', 'lm-eval', '--overlap', data, '--resume'));
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(resumed.stdout, new RegExp(`resume {2}${kept} replies are there`));
  const rows = rowsOf('killed');
  assert.ok(readFileSync(file, 'utf8').startsWith(before));
  assert.equal(new Set(rows.map(({ index, sample }) => `${index} ${sample}`)).size, 48);
  assert.equal(rows.length, 48);
  assert.deepEqual(reportOf('killed'), reportOf('whole'));
});

test('rescore judges stored replies without a model', async () => {
  const stored = rowsOf('whole').map((row) => ({ ...row, text: `so \\boxed{${row.answers[0]}}` }));
  const file = at('changed.jsonl');
  writeFileSync(file, stored.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { code, stdout } = await vf(['eval', 'rescore', file, '--json']);
  assert.equal(code, 0);
  const [result] = JSON.parse(stdout).results;
  assert.deepEqual([result.replies, result.changed, result.tasks[0].accuracy], [48, 48, 1]);
  const compared = await vf(['eval', 'compare', at('whole'), file, '--json']);
  // Judged again too, whatever verdicts stand in the files.
  const [{ questions, accuracyB, betterB }] = JSON.parse(compared.stdout).comparisons;
  assert.deepEqual([questions, accuracyB, betterB], [24, 1, 24]);
});

test('compare prints both accuracies and a p-value', async () => {
  const { stdout } = await vf(['eval', 'compare', at('whole'), at('whole')]);
  assert.match(stdout, /gsm8k +24 +.*\+0\.0 ± 0\.0 +0 +0 +1\.0000 {2}paired t/);
  const { code, stderr } = await vf(['eval', 'compare', at('whole')]);
  assert.equal(code, 2);
  assert.match(stderr, /needs two evaluations/);
});

test('missing data ends with exit code 2 and the place to get them', async () => {
  const { code, stderr } = await vf(['eval', 'mmlu-pro', '--model', model, '--out', at('none')], {
    env: { HF_HUB_OFFLINE: '1', HF_HUB_CACHE: at('empty-cache') },
  });
  assert.equal(code, 2);
  assert.match(stderr, /^error: no data for mmlu-pro in the hub cache and the network\n/m);
  assert.match(stderr, /help: get it from https:\/\/huggingface\.co\/datasets\/TIGER-Lab\/MMLU-Pro\//);
});

test("evaluating a run's folder gives the run's last evaluation", async () => {
  const trained = await vf([
    ...[
      'train',
      '--model',
      model,
      '--data',
      'bundled',
      '--out',
      at('run'),
      '--device',
      'cpu',
      '--steps',
      '1',
    ],
    ...['--prompts-per-step', '2', '--group-size', '2', '--max-tokens', '40', '--max-prompt-tokens', '256'],
    ...['--eval-limit', '6', '--force-border', '--seed', '7'],
  ]);
  assert.equal(trained.code, 0, trained.stderr);
  const evaluated = await vf(['eval', 'bundled', '--model', at('run'), '--out', at('of-run')]);
  assert.equal(evaluated.code, 0, evaluated.stderr);
  const last = (run: string) => {
    const lines = readFileSync(at(run, 'metrics.jsonl'), 'utf8').trimEnd().split('\n');
    const rows = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'eval');
    const metrics = rows.at(-1).metrics as Record<string, number>;
    const names = ['accuracy', 'stderr', 'questions', 'unparsed', 'truncated', 'tokens'];
    return names.map((name) => metrics[`eval/bundled-test/${name}`]);
  };
  assert.deepEqual(last('of-run'), last('run'));
  assert.equal(last('run')[2], 6);
  assert.deepEqual(
    new Set(rowsOf('of-run').map(({ maxTokens, seed }) => `${maxTokens} ${seed}`)),
    new Set(['104 7']),
  );
});
