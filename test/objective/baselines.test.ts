/** The baselines' rewards, by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question } from '../../src/data/question.js';
import { latroRewards } from '../../src/objective/latro.js';
import { judge, verifier } from '../../src/objective/verifier.js';
import type { Group, Trajectory } from '../../src/rollout/trajectory.js';

const question: Question = { id: '1', question: 'x', answers: ['1/2'], category: '', file: 'f', line: 1 };

function trace(text: string, logprobs: number[], ...answers: number[][]): Trajectory {
  return {
    ids: Int32Array.from(logprobs, () => 1),
    logprobs: Float32Array.from(logprobs),
    finish: answers.length > 0 ? 'border' : 'length',
    text,
    answerLogprobs: answers.map((values) => Float32Array.from(values)),
  };
}

const group = (...traces: Trajectory[]): Group => ({
  question,
  occurrence: 0,
  promptIds: Int32Array.of(1),
  patches: [],
  traces,
});

test("LaTRO's reward is log R minus beta times the trace's drift from the reference", () => {
  const groups = [group(trace('', [-1, -2], [-0.5, -0.5]), trace('', [-3], [-2]), trace('', [-4]))];
  // log R: -1, -2, none; drift: -3 - -5 = 2, -3 - -3 = 0.
  const rewards = latroRewards(groups, Float64Array.of(-5, -3, -4), 0.5);
  assert.deepEqual([...rewards], [-2, -2, -2]);
  const free = latroRewards(groups, Float64Array.of(-5, -3, -4), 0);
  assert.deepEqual([...free], [-1, -2, -2], 'a trace without border takes the lowest of its group');
});

test('several references add their probabilities', () => {
  const [reward] = latroRewards(
    [group(trace('', [0], [Math.log(0.25)], [Math.log(0.5)]))],
    Float64Array.of(0),
    1,
  );
  assert.ok(Math.abs(reward! - Math.log(0.75)) < 1e-6);
});

test('a group in which no trace has a border is missing, and leaves the next group alone', () => {
  const groups = [group(trace('', [-1]), trace('', [-1])), group(trace('', [-1], [-3]))];
  assert.deepEqual([...latroRewards(groups, Float64Array.of(-1, -1, -1), 1)], [Number.NaN, Number.NaN, -3]);
});

test('the verifier rewards an equal answer, whatever its form, and counts replies without one', () => {
  const groups = [group(trace('\\boxed{0.5}', [0]), trace('\\boxed{2}', [0]), trace('no answer', [0]))];
  const { rewards, unparsed } = judge(groups);
  assert.deepEqual([...rewards], [1, 0, 0]);
  assert.ok(Math.abs(unparsed - 1 / 3) < 1e-12);
});

test('the verifier refuses a group of one', () => {
  const options = {
    groupSize: 1,
    advantage: 'mean',
    lengthDivisor: 1,
    epochs: 1,
    miniBatches: 1,
    clip: -1,
    tisCap: 0,
    kl: 0,
  };
  assert.throws(() => verifier({ ...options, advantage: 'mean' }), { code: 'VF_INVALID_VALUE' });
});
