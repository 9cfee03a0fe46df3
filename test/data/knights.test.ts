/** Knights-and-Knaves: one solution each, the same for a seed, and text that is read back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrue, knightsQuestions, type Puzzle, solutions } from '../../src/data/knights.js';
import { puzzleText, readPuzzle, readSolution, solutionText } from '../../src/data/knights-text.js';
import { canonical } from '../../src/text/equal.js';

const people = [2, 3, 4, 5];

test('every puzzle has exactly one solution, and it is the answer', () => {
  const questions = knightsQuestions({ seed: 11, count: 80, people, form: 'story' });
  assert.equal(new Set(questions.map((q) => q.question)).size, 80);
  for (const { puzzle, answer, people } of questions) {
    const found = solutions(puzzle);
    assert.equal(found.length, 1);
    assert.equal(puzzle.names.length, people);
    assert.equal(solutionText(puzzle.names, found[0]!), answer);
    assert.deepEqual(readSolution(answer, puzzle.names), found[0]);
  }
  for (const n of people) assert.equal(questions.filter((q) => q.people === n).length, 20);
});

test('a seed gives the same puzzles, a longer set begins with the shorter one', () => {
  const make = (seed: number, count: number): string[] =>
    knightsQuestions({ seed, count, people: [2, 3], form: 'short' }).map((q) => q.question);
  assert.deepEqual(make(5, 20), make(5, 20));
  assert.deepEqual(make(5, 40).slice(0, 20), make(5, 20));
  assert.notDeepEqual(make(6, 20), make(5, 20));
});

test('both forms of text are read back as the same puzzle', () => {
  for (const form of ['story', 'short'] as const) {
    for (const { question, puzzle } of knightsQuestions({ seed: 2, count: 60, people, form })) {
      assert.deepEqual(readPuzzle(question), puzzle, question);
    }
  }
});

test('a puzzle in words', () => {
  const puzzle: Puzzle = {
    names: ['Ava', 'Ben', 'Cora'],
    statements: [
      { speaker: 0, claim: { kind: 'is', person: 1, knight: false } },
      { speaker: 1, claim: { kind: 'differ', left: 0, right: 1 } },
      {
        speaker: 2,
        claim: {
          kind: 'if',
          left: { kind: 'is', person: 2, knight: true },
          right: { kind: 'is', person: 0, knight: true },
        },
      },
    ],
  };
  assert.equal(
    puzzleText(puzzle, 'short'),
    'Ava: Ben is a knave. Ben: Ava and I are of different kinds. Cora: if I am a knight then Ava is a knight. Who is what?',
  );
  assert.deepEqual(readPuzzle(puzzleText(puzzle, 'story')), puzzle);
  // Cora's claim can be neither true nor false: as a knight she would make Ava one, as a knave she would speak the truth.
  assert.deepEqual(solutions(puzzle), []);
  const first = { names: puzzle.names.slice(0, 2), statements: puzzle.statements.slice(0, 2) };
  assert.deepEqual(solutions(first), [[false, true]]);
});

test('an implication from falsehood is true, either-or and equivalence as in logic', () => {
  const is = (person: number, knight: boolean): { kind: 'is'; person: number; knight: boolean } => ({
    kind: 'is',
    person,
    knight,
  });
  const [left, right] = [is(0, true), is(1, true)];
  const table = (kind: 'and' | 'or' | 'if' | 'iff'): boolean[] =>
    [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ].map((knights) => isTrue({ kind, left, right }, knights));
  assert.deepEqual(table('and'), [false, false, false, true]);
  assert.deepEqual(table('or'), [false, true, true, true]);
  assert.deepEqual(table('if'), [true, true, false, true]);
  assert.deepEqual(table('iff'), [true, false, false, true]);
});

test('an answer must name each person once; order, case and joining words do not matter', () => {
  const names = ['Ava', 'Ben'];
  for (const text of [
    'Ava is a knight, Ben is a knave',
    'Ben is a knave and Ava is a knight.',
    '\\text{ava is a Knight, ben is a knave}',
    'Ava is a knight\nBen is a knave',
  ]) {
    assert.deepEqual(readSolution(text, names), [true, false], text);
  }
  for (const text of [
    'Ava is a knight',
    'Ava is a knight, Ava is a knight',
    'Ava is a knight, Bob is a knave',
    '',
    'knight, knave',
    'Ava is a knight, Ben is a knave, Cora is a knave',
  ]) {
    assert.equal(readSolution(text, names), null, text);
  }
});

test('answers of a puzzle have one canonical key each, whatever their order', () => {
  const [q] = knightsQuestions({ seed: 1, count: 1, people: [5], form: 'short' });
  const clauses = q!.answer.split(', ');
  const key = canonical(q!.answer);
  assert.notEqual(key, null);
  assert.equal(canonical([...clauses].reverse().join(', ')), key);
  assert.notEqual(
    canonical(
      [
        clauses[0]!.replace(/knight|knave/, (k) => (k === 'knight' ? 'knave' : 'knight')),
        ...clauses.slice(1),
      ].join(', '),
    ),
    key,
  );
});

test('text of no known shape is no puzzle', () => {
  for (const text of [
    '',
    '3+4=?',
    'Ava: Ben is tall. Who is what?',
    'Ava: Zoe is a knave. Who is what?',
    'You meet Ava and Ben.',
  ]) {
    assert.equal(readPuzzle(text), null, text);
  }
  assert.throws(() => knightsQuestions({ seed: 1, count: 1, people: [6], form: 'short' }), RangeError);
});
