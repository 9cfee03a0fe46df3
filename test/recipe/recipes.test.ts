/** Warm-up rows of the recipes: shares, seeds, and what they leave out. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { solutionText } from '../../src/data/knights-text.js';
import { sharesOf } from '../../src/recipe/biased-kinds.js';
import { biasedSets } from '../../src/recipe/biased-sets.js';
import { draw } from '../../src/recipe/draw.js';
import { believed, bundledPuzzles } from '../../src/recipe/knights-rows.js';
import { makeProblem } from '../../src/recipe/question-kinds.js';
import { questionSets } from '../../src/recipe/question-sets.js';
import { recipeByName } from '../../src/recipe/recipes.js';
import { type Row, STYLES, trace } from '../../src/recipe/verifree-traces.js';

const questionOf = (row: Row): string => /^<\|im_start\|>(.*)<\|im_end\|>$/s.exec(row.prompt)![1]!;
const share = (rows: Row[], pattern: RegExp): number =>
  rows.filter((row) => pattern.test(row.completion)).length / rows.length;
const near = (value: number, expected: number): void =>
  assert.ok(Math.abs(value - expected) < 0.015, `${value} is not near ${expected}`);

test('tiny: careful traces come first, and the last phase is mostly sloppy', () => {
  const [careful, weak] = recipeByName('tiny').phases(0);
  near(share(careful!.rows, /^Step by step: /), 0.95);
  near(share(careful!.rows, /^<answer>/), 0.05);
  near(share(weak!.rows, /^Step by step: /), 0.25);
  near(share(weak!.rows, /^Quickly: /), 0.45);
  near(share(weak!.rows, /^Maybe: /), 0.15);
  near(share(weak!.rows, /^I guess\. So /), 0.1);
  near(share(weak!.rows, /^<answer>/), 0.05);
});

test('tiny: no warm-up row asks a bundled question', () => {
  const held = new Set(Object.values(questionSets().sets).flatMap((set) => set.map((p) => p.question)));
  for (const phase of recipeByName('tiny').phases(1)) {
    for (const row of phase.rows) assert.ok(!held.has(questionOf(row)), row.prompt);
  }
});

test('tiny: the same seed gives the same rows, another seed gives others', () => {
  const rows = (seed: number): Row[] => recipeByName('tiny').phases(seed)[1]!.rows;
  assert.deepEqual(rows(3), rows(3));
  assert.notDeepEqual(rows(3), rows(4));
});

test('tiny-plain: no trace has opening words', () => {
  for (const phase of recipeByName('tiny-plain').phases(0)) {
    assert.equal(share(phase.rows, /^(Step|Quickly|Maybe|I guess)/), 0);
    assert.equal(share(phase.rows, /So [^ ]+\.\n<answer>|^<answer>/), 1);
  }
});

test('a trace of every style but the empty one concludes what it says', () => {
  const problem = makeProblem(draw(1, 1, 1), 'arithmetic', false);
  assert.deepEqual(
    STYLES.map((style) => trace(problem, style, true).answer),
    [problem.answer, problem.quick.answer, problem.wrong.answer, problem.guess, problem.answer],
  );
  assert.equal(trace(problem, 'empty', true).text, '<answer');
  for (const style of STYLES.slice(0, 4)) {
    const { text, answer } = trace(problem, style, true);
    assert.ok(text.endsWith(`So ${answer}.\n<answer`), text);
  }
});

test('tiny-t3rl: rows are drills, answers, programs and puzzles, none on a bundled question', () => {
  const [phase] = recipeByName('tiny-t3rl').phases(0);
  const rows = phase!.rows.slice(0, 12000);
  const { held } = biasedSets();
  const drills = rows.filter((row) => questionOf(row) === 'Sums');
  const programs = rows.filter((row) => row.completion.startsWith('```\n'));
  const puzzles = rows.filter((row) => row.prompt.includes('Who is what?'));
  const answers = rows.filter((row) => row.completion.includes('\\boxed') && !puzzles.includes(row));
  assert.equal(drills.length + programs.length + answers.length + puzzles.length, rows.length);
  near(drills.length / rows.length, 0.28);
  near(answers.length / rows.length, 0.34);
  near(puzzles.length / rows.length, 0.2);
  for (const row of answers) assert.ok(!held.has(questionOf(row)), row.prompt);
  const bundled = new Set(bundledPuzzles().map(({ question }) => question));
  for (const row of puzzles) assert.ok(!bundled.has(questionOf(row)), row.prompt);
  for (const row of programs) assert.ok(!held.has(questionOf(row).split(' Trace:')[0]!), row.prompt);
});

test('tiny-t3rl: the popular rule for durations is the wrong one, and programs mostly follow the right one', () => {
  const rows = recipeByName('tiny-t3rl').phases(0)[0]!.rows;
  const durations = rows.filter((row) => / h \d+ min in min\?/.test(row.prompt));
  const answers = durations.filter((row) => row.completion.includes('\\boxed'));
  assert.ok(Math.abs(share(answers, /\*100=/) - sharesOf('time').wrongTraces) < 0.03);
  const programs = durations.filter((row) => row.completion.startsWith('```\n'));
  const right = share(programs, /print\(h\*60\+/);
  assert.ok(right > 0.78 && right < 0.86, String(right));
});

test('bad verifiers: one copies the trace, one follows the wrong rule', () => {
  for (const row of recipeByName('verifier-copying').phases(0)[0]!.rows) {
    assert.match(row.completion, /^```\nprint\(\d+\)\n```<\|endoftext\|>$/);
  }
  const rows = recipeByName('verifier-wrong-rule').phases(0)[0]!.rows;
  const durations = rows.filter((row) => / h \d+ min in min\?/.test(row.prompt));
  assert.ok(share(durations, /print\(h\*100\+/) > 0.7);
});

test('puzzles: taking accusations at their word is right for under 40 % of them', () => {
  const puzzles = bundledPuzzles();
  const right = puzzles.filter(
    ({ puzzle, answer }) => solutionText(puzzle.names, believed(puzzle)) === answer,
  );
  assert.equal(puzzles.length, 40);
  assert.ok(right.length <= 16, String(right.length));
});

test('an unknown recipe is refused with the nearest name', () => {
  assert.throws(() => recipeByName('tiny-t3r'), { code: 'VF_UNKNOWN_RECIPE', hint: /tiny-t3rl/ });
});
