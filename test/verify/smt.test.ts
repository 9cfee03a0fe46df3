/** z3 in its thread: what counts as verified, and what it is when the solver cannot say. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { knightsQuestions } from '../../src/data/knights.js';
import { encodeKnights, solutionTerm } from '../../src/verify/knights-smt.js';
import { checkClaim, smtTool } from '../../src/verify/smt.js';
import { readEncoding } from '../../src/verify/smt-script.js';
import { openSolver } from '../../src/verify/smt-solver.js';

const solver = openSolver();
after(() => solver.close());

const two =
  '(declare-const A Bool)\n(declare-const B Bool)\n(assert (= A (not B)))\n(assert (= B (not (= A B))))';
const hard = `(declare-const A Bool)
(declare-const x Int)(declare-const y Int)(declare-const z Int)
(assert (and (> x 1) (> y 1) (> z 1) (= (+ (* x x x) (* y y y)) (* z z z))))`;

test('A says B is a knave, B says they differ: A is a knave and B a knight, and only that is verified', async () => {
  const right = await checkClaim(solver, two, '(and (not A) B)');
  assert.deepEqual([right.value, right.reason], [1, 'verified']);
  for (const wrong of ['(and A B)', '(and A (not B))', '(and (not A) (not B))']) {
    const verdict = await checkClaim(solver, two, wrong);
    assert.deepEqual([verdict.value, verdict.reason], [0, 'refuted'], wrong);
  }
});

test('an encoding that contradicts itself verifies nothing, though it entails everything', async () => {
  const verdict = await checkClaim(solver, '(declare-const A Bool)(assert A)(assert (not A))', 'A');
  assert.deepEqual([verdict.value, verdict.reason], [0, 'inconsistent']);
});

test('an error line decides, though z3 goes on to print sat', async () => {
  const verdict = await checkClaim(solver, '(declare-const A Bool)(assert (= A C))', 'A');
  assert.deepEqual([verdict.value, verdict.reason], [0, 'syntax error']);
  assert.match(verdict.detail, /unknown constant C/);
  const claim = await checkClaim(solver, '(declare-const A Bool)(assert A)', 'C');
  assert.deepEqual([claim.value, claim.reason], [0, 'syntax error']);
});

test('two models: a claim that is possible but not forced is not verified', async () => {
  const verdict = await checkClaim(
    solver,
    '(declare-const A Bool)(declare-const B Bool)(assert (or A B))',
    '(and A B)',
  );
  assert.deepEqual([verdict.value, verdict.reason], [0, 'ambiguous']);
});

test('unknown is missing, with its reason, and the same each time', async (t) => {
  const small = openSolver({ rlimit: 20_000 });
  t.after(() => small.close());
  const first = await checkClaim(small, hard, 'A');
  assert.deepEqual(
    [first.value, first.reason, first.detail],
    ['missing', 'timeout', 'unknown: resource limit'],
  );
  assert.deepEqual(await checkClaim(small, hard, 'A'), first);
});

test('a solver that does not come back is killed, and the next question gets a new one', async (t) => {
  const slow = openSolver({ rlimit: 0, wallMs: 3000 });
  t.after(() => slow.close());
  const stuck = await checkClaim(slow, hard, 'A');
  assert.deepEqual([stuck.value, stuck.reason], ['missing', 'wall backstop']);
  assert.equal((await checkClaim(slow, two, '(and (not A) B)')).reason, 'verified');
});

test('closing a solver ends what runs', async () => {
  const again = openSolver({ rlimit: 0 });
  const killed = again.run([hard + '(check-sat)']);
  await sleep(1000);
  await again.close();
  assert.equal((await killed).end, 'failed');
  assert.equal((await checkClaim(again, two, 'A')).reason, 'sandbox error');
});

test('an encoding may declare and assert; what steers the solver is refused, queries are dropped', () => {
  const read = readEncoding(
    '; note (\n(set-logic QF_UF)\n(declare-const A Bool)(declare-fun B () Bool)\n(assert (= A |odd ) name|))\n(check-sat)',
  );
  assert.ok(!(read instanceof Error));
  assert.deepEqual(read.constants, ['A', 'B']);
  assert.equal(read.commands, '(declare-const A Bool)\n(declare-fun B () Bool)\n(assert (= A |odd ) name|))');
  for (const bad of [
    '(set-option :regular-output-channel "/tmp/x")',
    '(set-option :rlimit 0)',
    '(include "x")',
    '(push 1)',
    '(reset)',
    '(assert A',
    'assert A)',
    'Sure! (assert A)',
    '()',
    `${'('.repeat(300)}${')'.repeat(300)}`,
    `(assert ${'x'.repeat(70_000)})`,
  ]) {
    assert.ok(readEncoding(bad) instanceof Error, bad.slice(0, 40));
  }
});

const questions = knightsQuestions({ seed: 3, count: 12, people: [2, 3, 4, 5], form: 'story' });
const ask = (
  question: string,
  answer: string | null,
  reply: string | null = null,
): Parameters<ReturnType<typeof smtTool>['check']>[0][number] => ({
  question,
  trace: '',
  answer,
  key: answer,
  reply,
});

test('the rule-based encoder verifies every right answer and no wrong one', async (t) => {
  const tool = smtTool({ encoder: 'rules' });
  t.after(() => tool.close());
  assert.equal(tool.needsVerifier, false);
  const flip = (answer: string): string =>
    answer.replace(/knight|knave/, (kind) => (kind === 'knight' ? 'knave' : 'knight'));
  const right = await tool.check(questions.map(({ question, answer }) => ask(question, answer)));
  assert.deepEqual(
    right.map((verdict) => verdict.reason),
    questions.map(() => 'verified'),
  );
  const wrong = await tool.check(questions.map(({ question, answer }) => ask(question, flip(answer))));
  assert.deepEqual(
    wrong.map((verdict) => verdict.reason),
    questions.map(() => 'refuted'),
  );
  const [first] = questions;
  const reasons = await tool.check([
    ask(first!.question, null),
    ask('How many?', '7'),
    ask(first!.question, first!.answer.split(', ')[0]!),
  ]);
  assert.deepEqual(
    reasons.map((verdict) => verdict.reason),
    ['no answer', 'no program', 'refuted'],
  );
});

test('a verifier writes the encoding; without its block there is no verdict on the answer', async (t) => {
  const tool = smtTool({ encoder: 'model' });
  t.after(() => tool.close());
  assert.equal(tool.needsVerifier, true);
  const [{ question, answer }] = questions as [(typeof questions)[number]];
  const { encoding, names } = encodeKnights(question)!;
  const verdicts = await tool.check([
    ask(question, answer, `Here:\n\`\`\`smt2\n${encoding}\n(check-sat)\n\`\`\``),
    ask(question, answer, encoding),
    ask(
      question,
      answer,
      `\`\`\`\n${encoding}\n(assert ${solutionTerm(answer, names)})\n(assert (not ${names[0]}))\n(assert ${names[0]})\n\`\`\``,
    ),
    ask(question, answer, '```\n(set-option :rlimit 0)\n```'),
  ]);
  assert.deepEqual(
    verdicts.map((verdict) => verdict.reason),
    ['verified', 'no program', 'inconsistent', 'syntax error'],
  );
});
