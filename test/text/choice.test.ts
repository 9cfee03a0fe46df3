/** Letters of multiple-choice replies: what is stated is found, what is not stated is never guessed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { extractBoxed, extractChoice } from '../../src/text/answer.js';

const named: Record<string, string[]> = {
  ten: ['12 N', '18 N', '24 N', '30 N', '36 N', '42 N', '48 N', '54 N', '60 N', '66 N'],
  four: ['Copper', 'Zinc', 'Tin', 'Lead'],
};

type Row = [text: string, options: string | string[] | number, expected: string | null];

const rows = readFileSync(new URL('choices.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Row);

function choose([text, options]: Row): string | null {
  return extractChoice(text, typeof options === 'string' ? named[options]! : options);
}

test('a stated choice is found in every form it is written in', () => {
  for (const row of rows.filter((each) => each[2] !== null)) assert.equal(choose(row), row[2], row[0]);
});

test('a reply without one stated choice of the question has none', () => {
  for (const row of rows.filter((each) => each[2] === null)) assert.equal(choose(row), null, row[0]);
});

test('the number of options alone decides which letters exist', () => {
  assert.equal(extractChoice('The answer is (D).', 4), 'D');
  assert.equal(extractChoice('The answer is (E).', 4), null);
});

test('the last stated answer wins over earlier ones, pronouns and later remarks', () => {
  assert.equal(extractChoice('The answer is C because I computed it. Note that A is common.', 10), 'C');
  assert.equal(extractChoice('Antwort:\n\nAntwort: C', 10), 'C');
  assert.equal(extractChoice('The answer is (A). On reflection the answer is (B).', 10), 'B');
});

test('the last box counts, of nested boxes the inner one', () => {
  assert.equal(extractBoxed('\\boxed{1} and so again \\boxed{1}'), '1');
  assert.equal(extractBoxed('\\boxed{35} … \\boxed{4}'), '4');
  assert.equal(extractBoxed('\\boxed{\\frac{1}{2}}.'), '\\frac{1}{2}');
  assert.equal(extractBoxed('\\boxed{\\boxed{3}}'), '3');
  assert.equal(extractBoxed('\\boxed {5}'), '5');
  assert.equal(extractBoxed('so \\boxed 7$ holds'), '7');
  assert.equal(extractBoxed('\\fbox{C}'), 'C');
  assert.equal(extractBoxed('\\boxed{\\{1,2\\}}'), '\\{1,2\\}');
});

test('no box, an empty one and one that is never closed give null', () => {
  assert.equal(extractBoxed('I unboxed 3 gifts'), null);
  assert.equal(extractBoxed('the boxed value 3'), null);
  assert.equal(extractBoxed('\\boxed{}'), null);
  assert.equal(extractBoxed('\\boxed{ }'), null);
  assert.equal(extractBoxed('\\boxed{3} then \\boxed{4'), null);
  assert.equal(extractBoxed(''), null);
});
