/** Scores from replies: averages, clustered errors, pass@k, votes, confidence. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VfError } from '../../src/errors.js';
import { passAtK, pearson, scoreReplies } from '../../src/eval/score.js';
import { reply, verdicts } from './rows.js';

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} instead of ${expected}`);

test('the standard error is clustered by question: replies of one question are no independent draws', () => {
  const { accuracy, stderr, questions, samples } = scoreReplies(
    verdicts([true, true], [false, false], [true, true], [true, false]),
  );
  assert.deepEqual([questions, samples], [4, 2]);
  near(accuracy, 0.625);
  // Means 1, 0, 1, 0.5: sample variance 0.2291666…, divided by 4 questions.
  near(stderr, Math.sqrt(0.22916666666666666 / 4));
});

test('micro weighs questions, macro weighs categories', () => {
  const rows = [true, true, true, false].map((correct, index) =>
    reply({ index, correct, answer: 'A', category: index < 3 ? 'law' : 'art' }),
  );
  const { accuracy, macro, categories } = scoreReplies(rows);
  near(accuracy, 0.75);
  near(macro, 0.5);
  assert.deepEqual(
    categories.map(({ name, questions, accuracy: own }) => [name, questions, own]),
    [
      ['art', 1, 0],
      ['law', 3, 1],
    ],
  );
});

test('other groups have their own mean', () => {
  const rows = [true, false, true].map((correct, index) =>
    reply({ index, correct, groups: { difficulty: index < 2 ? 'easy' : 'hard' } }),
  );
  near(scoreReplies(rows).groups.difficulty!.macro, 0.75);
});

test('pass@k is unbiased, and refused with fewer replies than k', () => {
  near(passAtK(4, 1, 1), 0.25);
  // 1 - C(3, 2) / C(4, 2).
  near(passAtK(4, 1, 2), 0.5);
  near(passAtK(5, 2, 3), 0.9);
  assert.equal(passAtK(4, 0, 4), 0);
  assert.equal(passAtK(4, 2, 3), 1);
  assert.throws(
    () => passAtK(4, 1, 8),
    (error: VfError) => error.code === 'VF_SAMPLES' && error.hint === 'sample more: --samples 8',
  );
  const { passAt } = scoreReplies(verdicts([true, false, false, false]));
  assert.deepEqual(passAt, { 1: 0.25, 2: 0.5, 4: 1 });
});

test('the vote takes the commonest answer; missing answers never vote', () => {
  const three = (answers: (string | null)[]) =>
    answers.map((answer, sample) =>
      reply({
        sample,
        judge: 'answer',
        answers: ['1/2'],
        answer,
        correct: answer === '0.5' || answer === '\\frac12',
      }),
    );
  assert.equal(scoreReplies(three([null, null, '0.5'])).majority, 1);
  assert.equal(scoreReplies(three(['7', '0.5', '\\frac12'])).majority, 1);
  assert.equal(scoreReplies(three(['7', '7', '0.5'])).majority, 0);
  assert.equal(scoreReplies(three([null, null])).majority, 0);
  assert.equal(scoreReplies(three(['7'])).majority, null);
});

test('shares of missing and cut replies, lengths, speed', () => {
  const rows = [
    reply({ index: 0, finish: 'length', ids: [1, 2] }),
    reply({ index: 1, answer: 'A', correct: true }),
  ];
  const { unparsed, truncated, tokens, tokensPerSecond } = scoreReplies(rows);
  assert.deepEqual([unparsed, truncated, tokens, tokensPerSecond], [0.5, 0.5, 3, 6]);
});

test('confidence is correlated with correctness over questions', () => {
  const rows = [0.9, 0.1, 0.8, null].map((confidence, index) =>
    reply({ index, confidence, correct: index !== 1, answer: 'A' }),
  );
  const { confidence, confidenceShare, confidenceCorrelation } = scoreReplies(rows);
  near(confidence!, 0.6);
  assert.equal(confidenceShare, 0.75);
  assert.ok(confidenceCorrelation! > 0.98);
  assert.equal(pearson([1, 2], [1, 2]), null);
  assert.equal(pearson([1, 1, 1], [1, 2, 3]), null);
  near(pearson([1, 2, 3], [6, 4, 2])!, -1);
});
