/** The engine on the CPU in f32 against the float64 oracle: log-probs, gradients, updates, clipped mini-batches. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Policy } from '../../src/native/policy.js';
import type { StepArgs } from '../../src/native/types.js';
import { adamW, noMoments } from '../reference/adamw.js';
import { nmse } from '../reference/compare.js';
import { scoreForest } from '../reference/forest.js';
import { answersAmong, randomGroups, type SketchGroup, stepOf } from '../reference/groups.js';
import type { ReferenceModel, Weights } from '../reference/parameters.js';
import { normals, seeded } from '../reference/seeded.js';
import { randomModel, TINY_SPECS } from '../reference/specs.js';
import { referenceStep } from '../reference/step.js';
import { loadEngine, tensorsOf } from './load.js';

// Seen: log-probs 1e-14 to 3e-14, entropy 2e-13, gradients 1e-12 to 6e-12 (f32 rounding through two layers).
const LOGPROB_NMSE = 1e-12;
const GRADIENT_NMSE = 1e-10;

const open: Policy[] = [];
after(async () => {
  for (const policy of open) await policy.close();
});

async function engineOf(model: ReferenceModel): Promise<Policy> {
  const policy = await loadEngine(model);
  open.push(policy);
  return policy;
}

async function logprobsOf(policy: Policy, args: StepArgs): Promise<Float32Array> {
  const { tree, spans, temperature, microBatchTokens } = args;
  return (await policy.score({ tree, spans, temperature, entropy: false, microBatchTokens })).logprobs;
}

/** The step of these groups with the answers' log-probs as the engine scores them. */
async function stepFor(
  policy: Policy,
  groups: SketchGroup[],
  options: Partial<StepArgs>,
  layout: 'shared' | 'apart' = 'shared',
): Promise<StepArgs> {
  const args = { ...stepOf(groups, layout), ...options };
  return { ...args, answerLogprobs: answersAmong(args, await logprobsOf(policy, args)) };
}

async function gradientsOf(policy: Policy, model: ReferenceModel, args: StepArgs): Promise<Weights> {
  await policy.step({ ...args, update: false });
  return tensorsOf(policy, 'grad', model.weights.keys());
}

/** Asserts every tensor's NMSE. */
function assertClose(actual: Weights, expected: Weights, bound: number): void {
  for (const [name, tensor] of expected) {
    const error = nmse(actual.get(name)!, tensor);
    assert.ok(error <= bound, `${name}: NMSE ${error} is above ${bound}`);
  }
}

/** Asserts a sum of weighted terms to 1e-5 of the weights' size (log-probs here are of the order of 10). */
function assertSum(actual: number, expected: number, { weightSize }: { weightSize: number }): void {
  assert.ok(Math.abs(actual - expected) <= 1e-5 * weightSize, `${actual} is not ${expected}`);
}

const MODELS: [string, ReferenceModel][] = [
  ['qwen3, tied, padded vocabulary', randomModel(TINY_SPECS.qwen3, 31, 3)],
  ['qwen2 with biases', randomModel(TINY_SPECS.qwen2, 32)],
  ['llama with llama3 scaling', randomModel(TINY_SPECS.llama, 33)],
  [
    'llama, tied, linear scaling, three vocabulary chunks',
    randomModel(
      { ...TINY_SPECS.llama, tied: true, vocab: 4611, ropeScaling: { kind: 'linear', factor: 4 } },
      34,
    ),
  ],
];

for (const [title, model] of MODELS) {
  const groups = randomGroups(seeded(41), model.usableVocab, 3);

  test(`${title}: log-probs and entropy are the oracle's`, async () => {
    const policy = await engineOf(model);
    const { tree, spans } = stepOf(groups);
    for (const temperature of [1, 0.7]) {
      const scored = await policy.score({
        tree,
        spans,
        temperature,
        entropy: true,
        microBatchTokens: 1 << 20,
      });
      const oracle = scoreForest(model, tree, spans, temperature);
      const errors = [nmse(scored.logprobs, oracle.logprobs), nmse(scored.entropy, oracle.entropy)];
      assert.ok(Math.max(...errors) <= LOGPROB_NMSE, `NMSE of log-probs and entropy: ${errors}`);
    }
  });

  test(`${title}: the gradient of every tensor is the oracle's`, async () => {
    const policy = await engineOf(model);
    for (const options of [
      { reward: 'logp', temperature: 0.7 },
      { reward: 'p_mean', rewardExponent: 2, lengthDivisor: 3, normalize: 'tokens' },
    ] as const) {
      const args = await stepFor(policy, groups, options);
      const result = await policy.step(args);
      const oracle = referenceStep(model, args, noMoments(new Map()));
      const expected = (pick: (trace: (typeof oracle.traces)[number]) => number) => oracle.traces.map(pick);
      assert.ok(
        nmse(
          result.reward,
          expected((t) => t.reward),
        ) <= LOGPROB_NMSE,
      );
      assert.ok(
        nmse(
          result.advantage,
          expected((t) => t.advantage),
        ) <= LOGPROB_NMSE,
      );
      assert.ok(nmse(result.logprobs, oracle.logprobs) <= LOGPROB_NMSE);
      assert.ok(nmse(result.gradNorms, oracle.gradNorms) <= LOGPROB_NMSE);
      assertSum(result.surrogate, oracle.surrogate, oracle);
      assertSum(result.weightedLogprob, oracle.weightedLogprob, oracle);
      assert.equal(result.tokensComputed, args.tree.tokens.ids.length, 'every prompt and suffix once');
      assertClose(await tensorsOf(policy, 'grad', model.weights.keys()), oracle.gradients, GRADIENT_NMSE);
    }
  });
}

const [, model] = MODELS[0]!;
const groups = randomGroups(seeded(51), model.usableVocab, 4);
const optimizer = {
  lr: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-3,
  weightDecay: 0.1,
  clipNorm: 0.5,
  updatesDone: 0,
};

/** A model whose weights may be changed. */
function copyOf(from: ReferenceModel): ReferenceModel {
  return { ...from, weights: new Map([...from.weights].map(([name, tensor]) => [name, tensor.slice()])) };
}

test("two AdamW updates with decay and an active clip leave the oracle's weights and moments", async () => {
  const policy = await engineOf(model);
  const copy = copyOf(model);
  const moments = noMoments(copy.weights);
  for (const updatesDone of [0, 1]) {
    const args = await stepFor(policy, groups, {
      reward: 'logp',
      update: true,
      optimizer: { ...optimizer, updatesDone },
    });
    const gradients = await gradientsOf(policy, model, args);
    const result = await policy.step(args);
    const norm = adamW(copy.weights, gradients, moments, args.optimizer, updatesDone);
    assert.ok(norm > 0.5, `the clip is active at norm ${norm}`);
    assert.ok(nmse(result.gradNorms, [norm]) <= LOGPROB_NMSE);
    assertClose(await tensorsOf(policy, 'weight', copy.weights.keys()), copy.weights, 1e-13);
    assertClose(await tensorsOf(policy, 'm', copy.weights.keys()), moments.m, 1e-12);
    assertClose(await tensorsOf(policy, 'v', copy.weights.keys()), moments.v, 1e-12);
  }
});

test('two epochs of two clipped mini-batches with KL follow the oracle from the old log-probs', async () => {
  const policy = await engineOf(model);
  const copy = copyOf(model);
  const base = await stepFor(policy, groups, { reward: 'logp', update: true, optimizer, temperature: 0.7 });
  const oldLogprobs = await logprobsOf(policy, base);
  const noise = normals(seeded(52), oldLogprobs.length, 0.1);
  const args: StepArgs = {
    ...base,
    oldLogprobs,
    refLogprobs: oldLogprobs.map((lp, i) => lp - Math.abs(noise[i]!)),
    klCoefficient: 0.05,
    clipLow: 0.02,
    clipHigh: 0.03,
    dualClip: 1.01,
    epochs: 2,
    miniBatches: 2,
  };
  const result = await policy.step(args);
  const oracle = referenceStep(copy, args, noMoments(copy.weights));
  assert.equal(result.updates, 4);
  assert.ok(result.clipShare > 0.1, `the clip is active on ${result.clipShare} of the tokens`);
  assert.equal(result.clipShare, oracle.clipShare);
  assert.ok(
    nmse(result.gradNorms, oracle.gradNorms) <= 1e-8,
    `norms ${result.gradNorms} ${oracle.gradNorms}`,
  );
  assertSum(result.surrogate, oracle.surrogate, oracle);
  assert.ok(nmse([result.kl], [oracle.kl]) <= 1e-8, `KL ${result.kl} ${oracle.kl}`);
  assertClose(await tensorsOf(policy, 'weight', copy.weights.keys()), copy.weights, 1e-9);
});

test('with one update the ratio is 1 by definition, and the cap corrects by the old log-probs', async () => {
  const policy = await engineOf(model);
  const args = await stepFor(policy, groups, { reward: 'logp', clipLow: 0.2, clipHigh: 0.2 });
  const own = await logprobsOf(policy, args);
  const noise = normals(seeded(53), own.length, 0.5);
  const oldLogprobs = own.map((lp, i) => lp + noise[i]!);
  const plain = await gradientsOf(policy, model, args);
  assert.deepEqual(await gradientsOf(policy, model, { ...args, oldLogprobs }), plain);
  const capped = { ...args, oldLogprobs, tisCap: 1.3 };
  const oracle = referenceStep(model, capped, noMoments(new Map()));
  assertClose(await gradientsOf(policy, model, capped), oracle.gradients, GRADIENT_NMSE);
});

test('gradients do not depend on micro-batches, on the order of groups or on prefix sharing beyond rounding', async () => {
  const policy = await engineOf(model);
  const options = { reward: 'logp', temperature: 0.7 } as const;
  const whole = await stepFor(policy, groups, options);
  const expected = await gradientsOf(policy, model, whole);
  const smallest = 1 + Math.max(...groups.map((group) => stepOf([group]).tree.tokens.ids.length));
  const split = { ...whole, microBatchTokens: smallest };
  assertClose(await gradientsOf(policy, model, split), expected, 1e-11);
  assert.deepEqual(await logprobsOf(policy, split), await logprobsOf(policy, whole));
  const reversed = await stepFor(policy, groups.slice().reverse(), options);
  assertClose(await gradientsOf(policy, model, reversed), expected, 1e-11);
  const apart = await stepFor(policy, groups, options, 'apart');
  assert.deepEqual(apart.answerLogprobs, whole.answerLogprobs);
  assert.deepEqual(await logprobsOf(policy, apart), await logprobsOf(policy, whole));
  assertClose(await gradientsOf(policy, model, apart), expected, 1e-11);
});

test('recomputing layers changes no bit of a gradient', async () => {
  const policy = await engineOf(model);
  const args = await stepFor(policy, groups, { reward: 'logp' });
  const kept = await gradientsOf(policy, model, args);
  assert.deepEqual(await gradientsOf(policy, model, { ...args, recompute: true }), kept);
});

const given = Float32Array.of(1, 0, 1, 0, 0, 0, 0.5, -0.5, 0.2, 1, 1, 0);
const missing = Float32Array.of(1, Number.NaN, 0, 0, 1, 1, Number.NaN, Number.NaN, Number.NaN, 1, 1, 0);
const outside = { reward: 'given', answerWeight: 'none' } as const;
const variants: [string, Partial<StepArgs>][] = [
  ['rewards from outside, standardized', { ...outside, advantage: 'grpo', given }],
  ['rewards from outside, of which some are missing', { ...outside, given: missing }],
  ['advantages from outside, of which some are missing', { ...outside, advantage: 'given', given: missing }],
  [
    'the group mean as baseline, answer weight 1',
    { reward: 'p_mean', advantage: 'mean', answerWeight: 'one' },
  ],
  ['no baseline, answers weighed by it', { reward: 'p_mean', advantage: 'none', answerWeight: 'advantage' }],
  ['the answer term alone', { reward: 'p_mean', terms: 'answer' }],
  ['the reasoning term alone', { reward: 'p_mean', terms: 'reasoning' }],
  ['p with exponent 2', { reward: 'p', rewardExponent: 2 }],
];
for (const [title, options] of variants)
  test(`objective variants have the oracle's gradient: ${title}`, async () => {
    const policy = await engineOf(model);
    const args = await stepFor(policy, groups, options);
    const oracle = referenceStep(model, args, noMoments(new Map()));
    assertClose(await gradientsOf(policy, model, args), oracle.gradients, GRADIENT_NMSE);
  });

test('under logp a group without any border is skipped, but counts in the mean', async () => {
  const policy = await engineOf(model);
  const some = groups.map((group, g) =>
    g === 1 ? { ...group, traces: group.traces.map((trace) => ({ ...trace, continuations: [] })) } : group,
  );
  const args = await stepFor(policy, some, { reward: 'logp' });
  const result = await policy.step(args);
  assert.deepEqual([...result.skipped], [0, 1, 0, 0]);
  const oracle = referenceStep(model, args, noMoments(new Map()));
  assertClose(await tensorsOf(policy, 'grad', model.weights.keys()), oracle.gradients, GRADIENT_NMSE);
});

test('three mini-batches of four groups take 1, 1 and 2 groups', async () => {
  const policy = await engineOf(model);
  const copy = copyOf(model);
  const base = await stepFor(policy, groups, { reward: 'logp', update: true, optimizer, miniBatches: 3 });
  const args = { ...base, oldLogprobs: await logprobsOf(policy, base) };
  const result = await policy.step(args);
  const oracle = referenceStep(copy, args, noMoments(copy.weights));
  assert.ok(
    nmse(result.gradNorms, oracle.gradNorms) <= 1e-8,
    `norms ${result.gradNorms} ${oracle.gradNorms}`,
  );
});

test('supervised spans have the gradient of their weighted log-likelihood', async () => {
  const policy = await engineOf(model);
  const base = stepOf(groups);
  const spanWeights = Float32Array.from(base.spanTrace, (_, s) => 0.5 + (s % 3));
  const args = { ...base, spanWeights, normalize: 'tokens' } as const;
  const oracle = referenceStep(model, args, noMoments(new Map()));
  assertClose(await gradientsOf(policy, model, args), oracle.gradients, GRADIENT_NMSE);
});
