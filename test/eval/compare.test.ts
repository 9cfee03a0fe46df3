/** Comparing two evaluations: paired, on what both have. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareReplies, pairedT, signTest } from '../../src/eval/compare.js';
import { reply, verdicts } from './rows.js';

test('one reply a question: exact McNemar on the questions that changed', () => {
  const a = verdicts([true], [true], [false], [false], [false], [false], [false]);
  const b = verdicts([true], [false], [true], [true], [true], [true], [true]);
  const [result] = compareReplies(a, b);
  assert.deepEqual(
    { test: result!.test, n: result!.questions, a: result!.betterA, b: result!.betterB },
    { test: 'McNemar, exact', n: 7, a: 1, b: 5 },
  );
  // 2 (C(6,0) + C(6,1)) / 2^6.
  assert.ok(Math.abs(result!.p - 0.21875) < 1e-12);
  assert.equal(signTest(0, 0), 1);
  assert.equal(signTest(3, 3), 1);
  assert.ok(signTest(400, 600) < 1e-8);
});

test('several replies a question: paired t over question means', () => {
  const [result] = compareReplies(
    verdicts([true, false], [false, false], [false, false], [true, true]),
    verdicts([true, true], [true, false], [true, true], [true, true]),
  );
  assert.equal(result!.test, 'paired t');
  assert.equal(result!.difference, 0.5);
  // Differences 0.5, 0.5, 1, 0: t = √6 with 3 degrees of freedom, whose distribution has a closed form.
  const p = 1 - (2 / Math.PI) * (Math.atan(Math.SQRT2) + Math.SQRT2 / 3);
  assert.ok(Math.abs(result!.p - p) < 1e-12, String(result!.p));
  assert.equal(pairedT(0, 0, 5), 1);
});

test('questions of one side and other prompts are counted, tasks apart', () => {
  const a = [...verdicts([true], [true]), reply({ task: 'own', correct: true })];
  const b = [reply({ index: 0, promptHash: 'q', correct: true }), reply({ index: 5 })];
  const results = compareReplies(a, b);
  assert.equal(results.length, 1);
  const [{ questions, onlyA, onlyB, otherPrompt }] = results as [(typeof results)[number]];
  assert.deepEqual(
    { questions, onlyA, onlyB, otherPrompt },
    { questions: 1, onlyA: 1, onlyB: 1, otherPrompt: 1 },
  );
});
