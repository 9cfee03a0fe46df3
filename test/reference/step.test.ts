/** The float64 objective, clip, AdamW and checkpoint writer against numbers worked out by hand and finite differences. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModelFolder } from '../../src/model/folder.js';
import { openTokenizer } from '../../src/text/tokenizer.js';
import { adamW, noMoments } from './adamw.js';
import { writeCheckpoint } from './checkpoint.js';
import { differences, nmse } from './compare.js';
import { scoreForest } from './forest.js';
import { answersAmong, PLAIN_STEP, randomGroups, stepOf } from './groups.js';
import { parameterShapes } from './parameters.js';
import { advantagesOf, policyWeights } from './policy-weights.js';
import { seeded } from './seeded.js';
import { randomModel, TINY_SPECS } from './specs.js';
import { referenceStep } from './step.js';
import { tokenLoss } from './token-loss.js';
import { TOY_SPEC } from './toy.js';

const near = (actual: ArrayLike<number>, expected: ArrayLike<number>) =>
  assert.ok(nmse(actual, expected) < 1e-24, `${[...Array.from(actual)]} is not ${[...Array.from(expected)]}`);

const verifree = { reward: 'p', exponent: 1, advantage: 'rloo', answerWeight: 'exact' } as const;
const half = Math.log(0.5);
const quarter = Math.log(0.25);

test('leave-one-out, mean and standardized advantages of 0, 0.2, 1', () => {
  near(advantagesOf([0, 0.2, 1], 'rloo'), [-0.6, -0.3, 0.9]);
  near(advantagesOf([0, 0.2, 1], 'mean'), [-0.4, -0.2, 0.6]);
  // variance (0.16 + 0.04 + 0.36) / 2 = 0.28
  near(
    advantagesOf([0, 0.2, 1], 'grpo'),
    [-0.4, -0.2, 0.6].map((d) => d / (Math.sqrt(0.28) + 1e-6)),
  );
  assert.deepEqual(advantagesOf([0.1, 0.1, 0.1], 'rloo'), [0, 0, 0]);
});

test('R is the probability of the answer, its tokens weigh R, and a trace without border has R = 0', () => {
  const [a, b] = policyWeights([{ continuations: [[half, quarter]] }, { continuations: [] }], verifree)!;
  near([a!.reward, b!.reward, a!.advantage, b!.advantage], [0.125, 0, 0.125, -0.125]);
  near(a!.answerWeights, [0.125, 0.125]);
  assert.equal(b!.logReward, Number.NEGATIVE_INFINITY);
});

test("two references add up, and exponent 2 weighs 2 R times each one's probability", () => {
  const group = [{ continuations: [[half], [quarter, half]] }, { continuations: [[half]] }];
  const [a] = policyWeights(group, { ...verifree, exponent: 2 })!;
  near([a!.reward, a!.advantage], [0.625 ** 2, 0.625 ** 2 - 0.25]);
  near(a!.answerWeights, [2 * 0.625 * 0.5, 2 * 0.625 * 0.125, 2 * 0.625 * 0.125]);
});

test('p_mean takes the best continuation, each token weighing its own probability over their number', () => {
  const group = [{ continuations: [[quarter], [half, quarter]] }, { continuations: [] }];
  const [a] = policyWeights(group, { ...verifree, reward: 'p_mean' })!;
  near([a!.reward], [0.375]);
  near(a!.answerWeights, [0, 0.25, 0.125]);
});

test('logp gives a trace without border the lowest log R of its group, and skips a group without any', () => {
  const options = { ...verifree, reward: 'logp' } as const;
  const group = [{ continuations: [[half]] }, { continuations: [] }, { continuations: [[quarter]] }];
  near(
    policyWeights(group, options)!.map((t) => t.reward),
    [half, quarter, quarter],
  );
  assert.equal(policyWeights([{ continuations: [] }, { continuations: [] }], options), null);
});

test('the clip stops gains past the border for both signs, the dual clip bounds losses', () => {
  const options = { clipLow: 0.2, clipHigh: 0.3, dualClip: 3, tisCap: 0 };
  const at = (ratio: number, weight: number) =>
    tokenLoss(
      { logprob: Math.log(ratio), old: 0, onPolicy: false, reference: null, weight, klWeight: 0 },
      options,
    );
  near([at(1.1, 2).surrogate, at(1.1, 2).gradient], [2.2, -2.2]);
  assert.deepEqual([at(1.5, 2).surrogate, at(1.5, 2).gradient], [2.6, 0]);
  assert.deepEqual([at(0.5, -1).surrogate, at(0.5, -1).gradient], [-0.8, 0]);
  near([at(2, -1).surrogate, at(2, -1).gradient], [-2, 2]);
  assert.deepEqual([at(4, -1).surrogate, at(4, -1).gradient], [-3, 0]);
});

test('the token loss has the gradient of its finite differences, penalty included', () => {
  for (const weight of [0.7, -0.7])
    for (const start of [-1.2, -1.05, -0.3]) {
      const logprob = Float64Array.of(start);
      const loss = () =>
        tokenLoss(
          { logprob: logprob[0]!, old: -1, onPolicy: false, reference: -0.8, weight, klWeight: 0.3 },
          { clipLow: 0.2, clipHigh: 0.2, dualClip: 1.5, tisCap: 0 },
        );
      const slope = differences(() => 0.3 * loss().kl - loss().surrogate, logprob);
      assert.ok(nmse([loss().gradient], slope) < 1e-14);
    }
});

test('truncated importance sampling caps the detached ratio of the weight', () => {
  const options = { clipLow: -1, clipHigh: -1, dualClip: 0, tisCap: 2 };
  const at = (logprob: number) =>
    tokenLoss({ logprob, old: 0, onPolicy: true, reference: null, weight: 1, klWeight: 0 }, options).gradient;
  near([at(Math.log(1.5)), at(Math.log(5))], [-1.5, -2]);
});

test('AdamW decays first, clips by the global norm and corrects its bias', () => {
  const weights = new Map([['w', Float64Array.of(1, -2)]]);
  const moments = noMoments(weights);
  const options = { ...PLAIN_STEP.optimizer, lr: 0.1, eps: 0.5, weightDecay: 0.5, clipNorm: 1 };
  assert.equal(adamW(weights, new Map([['w', Float64Array.of(3, 4)]]), moments, options, 0), 5);
  // clipped to (0.6, 0.8); m / bias = g and sqrt(v / bias) = |g|
  near(weights.get('w')!, [0.95 - (0.1 * 0.6) / 1.1, -1.9 - (0.1 * 0.8) / 1.3]);
  near(moments.m.get('w')!, [0.06, 0.08]);
  adamW(weights, new Map([['w', Float64Array.of(0, 0)]]), moments, options, 1);
  near(moments.v.get('w')!, [0.05 * 0.36 * 0.95, 0.05 * 0.64 * 0.95]);
});

test('shared trees and sequences apart give the same step; normalizing by tokens only rescales it', () => {
  const model = randomModel({ ...TINY_SPECS.qwen3, vocab: 17 }, 3);
  const groups = randomGroups(seeded(4), 17, 2);
  const run = (args: ReturnType<typeof stepOf>) => {
    const { logprobs } = scoreForest(model, args.tree, args.spans, 1);
    return referenceStep(
      model,
      { ...args, answerLogprobs: answersAmong(args, logprobs) },
      noMoments(new Map()),
    );
  };
  const shared = run(stepOf(groups));
  const apart = run(stepOf(groups, 'apart'));
  const byTokens = run({ ...stepOf(groups), normalize: 'tokens', lengthDivisor: 2 });
  for (const [name, gradient] of shared.gradients) {
    assert.ok(nmse(apart.gradients.get(name)!, gradient) < 1e-24);
    const scaled = byTokens.gradients.get(name)!.map((g) => (g * 2 * shared.logprobs.length) / 6);
    assert.ok(nmse(scaled, gradient) < 1e-24);
  }
});

test('checkpoints of all families are read back with their spec, tensors and vocabulary', async () => {
  for (const spec of [...Object.values(TINY_SPECS), TOY_SPEC]) {
    const model = randomModel(spec, 5, 1);
    const loaded = await loadModelFolder(writeCheckpoint(model), openTokenizer);
    assert.deepEqual(loaded.spec, spec);
    assert.equal(loaded.usableVocab, spec.vocab - 1);
    assert.deepEqual(new Set(loaded.tensors.map((t) => t.name)), new Set(parameterShapes(spec).keys()));
  }
});
