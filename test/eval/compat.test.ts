/** Other harnesses' rules on replies, their guessing seeded and counted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CompatRule, compatScores } from '../../src/eval/compat.js';
import { reply } from './rows.js';

const right = (rule: CompatRule, text: string, changes = {}) =>
  Object.fromEntries(
    Object.entries(compatScores(rule, [reply({ text, answers: ['C'], ...changes })], 1)).map(
      ([name, { accuracy, missed }]) => [name, missed > 0 ? 'none' : accuracy],
    ),
  );

test('mmlu-pro takes the first statement, then a colon, then any last letter, the pronoun included', () => {
  assert.deepEqual(right('mmlu-pro', 'The answer is (C). Question: next. The answer is (A).'), {
    'mmlu-pro': 1,
  });
  assert.deepEqual(right('mmlu-pro', 'Final answer: B, no, answer: C'), { 'mmlu-pro': 1 });
  assert.deepEqual(right('mmlu-pro', 'It must be C but I am not sure'), { 'mmlu-pro': 0 });
});

test('general-reasoner takes the first letter that occurs in the box', () => {
  assert.deepEqual(right('general-reasoner', '\\boxed{C}'), { 'general-reasoner': 1 });
  assert.deepEqual(right('general-reasoner', '\\boxed{Answer: C}'), { 'general-reasoner': 0 });
  assert.deepEqual(right('general-reasoner', 'The answer is: C'), { 'general-reasoner': 1 });
  assert.deepEqual(right('general-reasoner', 'no box'), { 'general-reasoner': 'none' });
});

test('lm-eval has a strict and a flexible form', () => {
  assert.deepEqual(right('lm-eval', 'so (C) it is'), { 'lm-eval': 'none', 'lm-eval-flexible': 1 });
  assert.deepEqual(right('lm-eval', 'answer is C'), { 'lm-eval': 1, 'lm-eval-flexible': 'none' });
  const free = { judge: 'answer', answers: ['1200'] };
  assert.deepEqual(right('lm-eval', 'She has $1,200.\n#### 1,200', free), {
    'lm-eval': 1,
    'lm-eval-flexible': 1,
  });
  assert.deepEqual(right('lm-eval', 'She has 1,200 then.', free), {
    'lm-eval': 'none',
    'lm-eval-flexible': 1,
  });
});

test('supergpqa reads lower case and scores it wrong', () => {
  assert.deepEqual(right('supergpqa', 'First A.\nAnswer: C.'), { supergpqa: 1 });
  assert.deepEqual(right('supergpqa', 'Answer: c'), { supergpqa: 0 });
  assert.deepEqual(right('supergpqa', 'The correct answer is $\\boxed{C}$'), { supergpqa: 1 });
  assert.deepEqual(right('supergpqa', 'The answer is three.', { options: ['one', 'two', 'three', 'four'] }), {
    supergpqa: 1,
  });
  assert.deepEqual(right('supergpqa', 'no idea'), { supergpqa: 'none' });
});

test('what is drawn at random is seeded, counted, and even over the letters', () => {
  const rows = Array.from({ length: 2000 }, (_, index) => reply({ index, text: '???', answers: ['B'] }));
  const once = compatScores('mmlu-pro', rows, 7)['mmlu-pro']!;
  assert.deepEqual(once, compatScores('mmlu-pro', rows, 7)['mmlu-pro']);
  assert.equal(once.guessed, 1);
  // One of four options; one of ten letters.
  assert.ok(Math.abs(once.accuracy - 0.25) < 0.03, String(once.accuracy));
  const ten = compatScores('general-reasoner', rows, 7)['general-reasoner']!;
  assert.ok(Math.abs(ten.accuracy - 0.1) < 0.02, String(ten.accuracy));
});

test('no reply makes a rule slow', () => {
  const texts = [
    '('.repeat(200_000),
    'answer '.repeat(30_000),
    'the '.repeat(50_000),
    '\\boxed{'.repeat(30_000),
  ];
  for (const rule of ['general-reasoner', 'mmlu-pro', 'lm-eval', 'supergpqa'] as const) {
    for (const text of texts) {
      const began = performance.now();
      compatScores(rule, [reply({ text })], 1);
      const took = performance.now() - began;
      assert.ok(took < 500, `${rule} took ${took} ms on ${text.slice(0, 10)}…`);
    }
  }
});
