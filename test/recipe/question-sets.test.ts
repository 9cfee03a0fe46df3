/** The bundled question sets: sizes, disjointness, luck of the sloppy ways, and the committed bytes. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { questionFiles } from '../../src/recipe/asset-files.js';
import { BIASED_CATEGORIES, POPULAR_WRONG } from '../../src/recipe/biased-kinds.js';
import { biasedSets } from '../../src/recipe/biased-sets.js';
import { CATEGORIES, type Problem } from '../../src/recipe/question-kinds.js';
import { questionSets } from '../../src/recipe/question-sets.js';

const { sets, holds } = questionSets();
const all = Object.values(sets).flat();
const share = (list: Problem[], right: (problem: Problem) => boolean): number =>
  list.filter(right).length / list.length;

test('eight categories fill a training, a validation and a test set evenly', () => {
  assert.equal(CATEGORIES.length, 8);
  assert.deepEqual([sets.train.length, sets.validation.length, sets.test.length], [2560, 320, 1024]);
  for (const set of Object.values(sets)) {
    for (const category of CATEGORIES) {
      assert.equal(set.filter((problem) => problem.category === category).length, set.length / 8);
    }
  }
});

test('no question stands twice, within a set or across sets, and warm-ups know all of them', () => {
  assert.equal(new Set(all.map((problem) => problem.question)).size, all.length);
  assert.ok(all.every(holds));
});

test('no test or validation question is another wording of a training sum', () => {
  const cores = (list: Problem[]): Set<string> =>
    new Set(list.map((problem) => `${problem.category} ${problem.core}`));
  const trained = cores(sets.train);
  const validated = cores(sets.validation);
  for (const core of cores(sets.test)) assert.ok(!trained.has(core) && !validated.has(core), core);
  for (const core of validated) assert.ok(!trained.has(core), core);
});

test('in each category of each set a sloppy way is right by luck in at most 40 % of the questions', () => {
  for (const set of Object.values(sets)) {
    for (const category of CATEGORIES) {
      const list = set.filter((problem) => problem.category === category);
      assert.ok(share(list, (problem) => problem.quick.answer === problem.answer) <= 0.4, category);
      assert.ok(share(list, (problem) => problem.wrong.answer === problem.answer) <= 0.4, category);
      assert.ok(share(list, (problem) => problem.guess === problem.answer) <= 0.25, category);
      assert.equal(
        share(list, (problem) => problem.careful.answer === problem.answer),
        1,
      );
    }
  }
});

test('no single answer is right for more than a quarter of a category', () => {
  for (const category of CATEGORIES) {
    const counts = new Map<string, number>();
    const list = sets.test.filter((problem) => problem.category === category);
    for (const { answer } of list) counts.set(answer, (counts.get(answer) ?? 0) + 1);
    assert.ok(Math.max(...counts.values()) <= list.length / 4, category);
  }
});

test('the test-time sets hold 6 and 30 questions of each kind, none of them twice', () => {
  const { unlabeled, heldOut, held } = biasedSets();
  assert.equal(BIASED_CATEGORIES.length, 8);
  assert.equal(POPULAR_WRONG.length, 4);
  assert.deepEqual([unlabeled.length, heldOut.length, held.size], [48, 240, 288]);
  for (const { right, wrong, answer } of [...unlabeled, ...heldOut]) {
    assert.equal(right.answer, answer);
    assert.notEqual(wrong.answer, answer);
  }
});

test('the committed question files are the bytes that the recipes make', () => {
  for (const [path, text] of Object.entries(questionFiles())) {
    assert.equal(readFileSync(new URL(`../../assets/${path}`, import.meta.url), 'utf8'), text, path);
  }
});

test('worked examples: the sums in a careful trace are true', () => {
  for (const { careful, question } of all) {
    for (const [sum, left, sign, right, result] of careful.text.matchAll(/(\d+)([+*-])(\d+)=(\d+)/g)) {
      const [a, b] = [Number(left), Number(right)];
      const value = sign === '+' ? a + b : sign === '-' ? a - b : a * b;
      assert.equal(value, Number(result), `${sum} in ${question}`);
    }
  }
});
