/** The engine's gradient, averaged over every group of two of the toy policy, is the gradient of the objective itself. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Policy } from '../../src/native/policy.js';
import { relativeError } from '../reference/compare.js';
import { answersAmong, type SketchTrace } from '../reference/groups.js';
import { randomModel } from '../reference/specs.js';
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
} from '../reference/toy.js';
import { loadEngine, tensorsOf } from './load.js';

type Estimator = Parameters<typeof toyStep>[2];

const model = randomModel(TOY_SPEC, 21);
let policy: Policy;
before(async () => {
  policy = await loadEngine(model, { threads: 1 }, ['a', 'b', 'c', '<answer']);
});
after(() => policy.close());

/** Log-probs of each trace's answer tokens, scored by the engine. */
async function answersOf(toy: Toy): Promise<(trace: SketchTrace) => number[]> {
  const table = new Map<string, number[]>();
  for (const trace of toyTraces(toy)) {
    const args = toyStep(toy, { prompt: toy.prompt, traces: [trace] }, { advantage: 'none' });
    const { tree, spans, temperature, microBatchTokens } = args;
    const { logprobs } = await policy.score({ tree, spans, temperature, entropy: false, microBatchTokens });
    table.set(trace.tokens.join(), [...answersAmong(args, logprobs)]);
  }
  return (trace) => table.get(trace.tokens.join()) ?? [];
}

/** The engine's ascent gradient of one group. */
function engine(toy: Toy, answers: (trace: SketchTrace) => number[], estimator: Estimator): GroupGradient {
  return async (group) => {
    const answerLogprobs = Float32Array.from(group.traces.flatMap(answers));
    await policy.step({ ...toyStep(toy, group, estimator), answerLogprobs });
    const loss = await tensorsOf(policy, 'grad', model.weights.keys());
    return new Map([...loss].map(([name, tensor]) => [name, tensor.map((g) => -g)]));
  };
}

/** |expected gradient - gradient of the objective| / |gradient of the objective| for each estimator. */
async function errorsOf(toy: Toy, estimators: Estimator[]): Promise<number[]> {
  const truth = toyDifferences(model, toy);
  const groups = groupsOfTwo(model, toy);
  const answers = await answersOf(toy);
  const errors: number[] = [];
  for (const estimator of estimators)
    errors.push(relativeError(await expectedGradient(groups, engine(toy, answers, estimator)), truth));
  return errors;
}

const REWARDS: [string, Partial<Toy>][] = [
  ['p', { reward: 'p' }],
  ['p, exponent 2', { reward: 'p', exponent: 2 }],
  ['p of two references', { reward: 'p', answers: [[1, 2], [0]] }],
  ['p_mean', { reward: 'p_mean' }],
  ['p_mean, exponent 2', { reward: 'p_mean', exponent: 2 }],
  ['logp', { reward: 'logp' }],
  ['logp of two references', { reward: 'logp', answers: [[1, 2], [0]] }],
];

for (const temperature of [1, 0.7])
  for (const [name, options] of REWARDS)
    test(`T = ${temperature}, ${name}: the expected gradient is the objective's to 1e-5, with and without RLOO`, async () => {
      const [rloo, plain] = await errorsOf(toyOf({ ...options, temperature }), [
        { advantage: 'rloo' },
        { advantage: 'none' },
      ]);
      assert.ok(rloo! < 1e-5, `with RLOO: relative error ${rloo}`);
      assert.ok(plain! < 1e-5, `without: relative error ${plain}`);
    });

for (const [name, options] of REWARDS)
  test(`${name}: one of the two terms alone is not the objective's gradient`, async () => {
    const [reasoning, answer] = await errorsOf(toyOf({ ...options, temperature: 0.7, maxTokens: 2 }), [
      { advantage: 'rloo', terms: 'reasoning' },
      { advantage: 'rloo', terms: 'answer' },
    ]);
    assert.ok(reasoning! > 1e-2, `reasoning term alone: relative error ${reasoning}`);
    assert.ok(answer! > 1e-2, `answer term alone: relative error ${answer}`);
  });
