/** The estimator's expectation over all groups of two is the gradient of the objective, in the float64 oracle itself. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noMoments } from './adamw.js';
import { relativeError } from './compare.js';
import { scoreForest } from './forest.js';
import { randomModel } from './specs.js';
import { referenceStep } from './step.js';
import {
  expectedGradient,
  type GroupGradient,
  groupsOfTwo,
  TOY_SPEC,
  type Toy,
  toyDifferences,
  toyOf,
  toyStep,
  toyTraces,
  withAnswers,
} from './toy.js';

const model = randomModel(TOY_SPEC, 21);

function oracle(toy: Toy, options: Parameters<typeof toyStep>[2]): GroupGradient {
  return (group) => {
    const args = toyStep(toy, group, options);
    const { logprobs } = scoreForest(model, args.tree, args.spans, toy.temperature);
    const { gradients } = referenceStep(model, withAnswers(args, logprobs), noMoments(new Map()));
    return new Map([...gradients].map(([name, tensor]) => [name, tensor.map((g) => -g)]));
  };
}

/** Relative error of the expected gradient of each of the estimators. */
async function errorsOf(toy: Toy, estimators: Parameters<typeof toyStep>[2][]): Promise<number[]> {
  const truth = toyDifferences(model, toy);
  const groups = groupsOfTwo(model, toy);
  return Promise.all(
    estimators.map(async (options) =>
      relativeError(await expectedGradient(groups, oracle(toy, options)), truth),
    ),
  );
}

test('four tokens and at most three samples make 40 traces, whose probabilities and groups sum to 1', () => {
  const toy = toyOf({ temperature: 0.7 });
  assert.equal(toyTraces(toy).length, 40);
  const groups = groupsOfTwo(model, toy);
  assert.equal(groups.length, 820);
  assert.ok(Math.abs(groups.reduce((sum, g) => sum + g.probability, 0) - 1) < 1e-12);
});

const answers = [[1, 2], [0]];
const options: [string, Partial<Toy>][] = [
  ['p', { reward: 'p', temperature: 0.7 }],
  ['p, exponent 2', { reward: 'p', exponent: 2 }],
  ['p of two references, exponent 2', { reward: 'p', exponent: 2, temperature: 0.7, answers }],
  ['p_mean', { reward: 'p_mean' }],
  ['p_mean, exponent 2', { reward: 'p_mean', exponent: 2, temperature: 0.7 }],
  ['logp', { reward: 'logp' }],
  ['logp of two references', { reward: 'logp', temperature: 0.7, answers }],
];
for (const [name, option] of options) {
  const toy = toyOf({ ...option, maxTokens: 2 });
  test(`T = ${toy.temperature}, ${name}: only both terms together have the objective's gradient, with and without RLOO`, async () => {
    const [rloo, plain, reasoning, answer] = await errorsOf(toy, [
      { advantage: 'rloo' },
      { advantage: 'none' },
      { advantage: 'rloo', terms: 'reasoning' },
      { advantage: 'rloo', terms: 'answer' },
    ]);
    assert.ok(rloo! < 1e-6, `with RLOO: relative error ${rloo}`);
    assert.ok(plain! < 1e-6, `without: relative error ${plain}`);
    assert.ok(reasoning! > 1e-2, `reasoning term alone: relative error ${reasoning}`);
    assert.ok(answer! > 1e-2, `answer term alone: relative error ${answer}`);
  });
}

test("traces of up to three tokens, p with RLOO: the expected gradient is the objective's", async () => {
  const [error] = await errorsOf(toyOf({}), [{ advantage: 'rloo' }]);
  assert.ok(error! < 1e-6, `relative error ${error}`);
});

test('an answer weight of 1 or of the advantage has another expectation', async () => {
  const errors = await errorsOf(toyOf({ maxTokens: 2 }), [
    { advantage: 'rloo', answerWeight: 'one' },
    { advantage: 'rloo', answerWeight: 'advantage' },
  ]);
  for (const error of errors) assert.ok(error > 1e-2, `relative error ${error}`);
});
