/**
 * The CUDA backend run on the CPU (device cuda-sim, which only test builds have) against the float64 oracle and the CPU
 * backend. The build is VF_CUDA_SIM_NODE, or what `native/test/cuda.sh build/cuda-test addon` makes.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { packageRoot } from '../../src/native/binding.js';
import type { StepArgs } from '../../src/native/types.js';
import { vf } from '../cli/vf.js';
import { noMoments } from '../reference/adamw.js';
import { nmse } from '../reference/compare.js';
import { answersAmong, randomGroups, stepOf } from '../reference/groups.js';
import { seeded } from '../reference/seeded.js';
import { randomModel, TINY_SPECS } from '../reference/specs.js';
import { referenceStep } from '../reference/step.js';
import { scratch } from '../scratch.js';
import { loadEngine, tensorsOf } from './load.js';

const build = process.env.VF_CUDA_SIM_NODE ?? path.join(packageRoot, 'build', 'cuda-test', 'vf.node');
const there = existsSync(build);
if (there) process.env.VF_NATIVE_PATH = build;

function skipWithoutBuild(t: TestContext): boolean {
  if (!there) t.skip('no GPU simulation: native/test/cuda.sh build/cuda-test addon builds it');
  return !there;
}

test('the second mini-batch has the ratios of the float64 oracle, on the CPU and on cuda-sim', async (t) => {
  if (skipWithoutBuild(t)) return;
  const model = randomModel(TINY_SPECS.qwen3, 31, 3);
  const groups = randomGroups(seeded(51), model.usableVocab, 4);
  for (const device of ['cpu', 'cuda-sim']) {
    const policy = await loadEngine(model, { device });
    const plain = stepOf(groups);
    const { tree, spans, temperature, microBatchTokens } = plain;
    const { logprobs } = await policy.score({ tree, spans, temperature, entropy: false, microBatchTokens });
    const args: StepArgs = {
      ...plain,
      answerLogprobs: answersAmong(plain, logprobs),
      oldLogprobs: logprobs,
      miniBatches: 2,
      update: true,
      clipLow: 0.2,
      clipHigh: 0.28,
      optimizer: { ...plain.optimizer, lr: 0.02, eps: 1e-3 },
    };
    const copy = { ...model, weights: new Map([...model.weights].map(([name, w]) => [name, w.slice()])) };
    const oracle = referenceStep(copy, args, noMoments(copy.weights));
    const result = await policy.step(args);
    const ratios = Float64Array.from(result.logprobs, (lp, i) => Math.exp(lp - logprobs[i]!));
    const expected = Float64Array.from(oracle.logprobs, (lp, i) => Math.exp(lp - logprobs[i]!));
    const farthest = Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)));
    assert.ok(farthest > 0.05, `${device}: the farthest ratio is only ${farthest} from 1`);
    assert.ok(nmse(ratios, expected) <= 1e-9, `${device}: ratios differ by NMSE ${nmse(ratios, expected)}`);
    assert.ok(Math.abs(result.clipShare - oracle.clipShare) < 1e-12, `${device}: as many rows are clipped`);
    const weights = await tensorsOf(policy, 'weight', copy.weights.keys());
    for (const [name, tensor] of copy.weights) {
      assert.ok(nmse(weights.get(name)!, tensor) <= 1e-8, `${device}: ${name}`);
    }
    assert.equal(policy.info.device, device);
    await policy.close();
  }
});

test('vf train --device cuda-sim takes two steps that match the CPU', async (t) => {
  if (skipWithoutBuild(t)) return;
  const folder = scratch('cuda-sim');
  const data = path.join(folder, 'questions.jsonl');
  const rows = [
    { question: '2 + 3 = ?', answer: '5' },
    { question: '7 - 4 = ?', answer: '3' },
  ];
  writeFileSync(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const flags = [
    '--steps',
    '2',
    '--prompts-per-step',
    '2',
    '--group-size',
    '2',
    '--max-tokens',
    '10',
    '--seed',
    '3',
  ];
  const steps: Record<string, number>[][] = [];
  for (const device of ['cpu', 'cuda-sim']) {
    const out = path.join(folder, device);
    const words = [
      'train',
      '--data',
      data,
      '--device',
      device,
      '--dtype',
      'f32',
      '--out',
      out,
      '--force-border',
    ];
    const run = await vf([...words, ...flags], { env: { VF_NATIVE_PATH: build } });
    assert.equal(run.code, 0, run.stderr);
    const lines = readFileSync(path.join(out, 'metrics.jsonl'), 'utf8').trim().split('\n');
    steps.push(
      lines
        .map((line) => JSON.parse(line))
        .filter((line) => line.event === 'step' && line.step > 0)
        .map((line) => line.metrics),
    );
    const { device: stored } = JSON.parse(readFileSync(path.join(out, 'manifest.json'), 'utf8'));
    assert.equal(stored.device, device);
    assert.equal(stored.products, 'own f32 products');
  }
  const [cpu, simulated] = steps as [Record<string, number>[], Record<string, number>[]];
  assert.equal(cpu.length, 2);
  cpu.forEach((metrics, i) => {
    for (const name of ['grad/norm', 'loss/surrogate', 'reward/mean'].filter((key) => key in metrics)) {
      const error = Math.abs(simulated[i]![name]! - metrics[name]!) / (Math.abs(metrics[name]!) + 1e-9);
      assert.ok(
        error < 1e-3,
        `step ${i + 1}: ${name} is ${simulated[i]![name]} and ${metrics[name]} on the CPU`,
      );
    }
    assert.ok('grad/norm' in metrics);
  });
});

test('the products in use stand in the first lines of a run', async (t) => {
  if (skipWithoutBuild(t)) return;
  const folder = scratch('cuda-sim');
  const data = path.join(folder, 'questions.jsonl');
  writeFileSync(data, `${JSON.stringify({ question: '2 + 3 = ?', answer: '5' })}\n`);
  const flags =
    '--steps 1 --prompts-per-step 1 --group-size 2 --max-tokens 4 --device cuda-sim --force-border --json';
  const words = ['train', '--data', data, '--out', path.join(folder, 'run'), ...flags.split(' ')];
  const run = await vf(words, { env: { VF_NATIVE_PATH: build } });
  assert.equal(run.code, 0, run.stderr);
  const start = run.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .find(({ event }) => event === 'start');
  assert.match(start.device, /cuda-sim · own mma\.sync products$/);
});

test('without enough memory on the device a run ends with exit 3, what was asked and free, and what lowers it', async (t) => {
  if (skipWithoutBuild(t)) return;
  const words = [
    'train',
    '--steps',
    '1',
    '--device',
    'cuda-sim',
    '--out',
    path.join(scratch('cuda-sim'), 'none'),
  ];
  const run = await vf(words, { env: { VF_NATIVE_PATH: build, VF_SHIM_MEMORY: '30000000' } });
  assert.equal(run.code, 3);
  const [, asked, free, total] =
    /^error: Expected (\d+) bytes of GPU memory but (\d+) of (\d+) are free$/m.exec(run.stderr) ??
    assert.fail(run.stderr);
  assert.equal(total, '30000000');
  assert.ok(Number(asked) > Number(free), `${asked} of ${free}`);
  assert.match(
    run.stderr,
    /help: lower --micro-batch-tokens, --max-tokens or --max-batch, or pass --recompute/,
  );
});
