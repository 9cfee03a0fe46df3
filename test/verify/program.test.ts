/** Replies to programs, runs to verdicts, and what the verifier is shown. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonical } from '../../src/text/equal.js';
import { extractProgram, type FinishedRun, judge, pythonLanguages } from '../../src/verify/program.js';
import { hideAnswer, pythonPrompt, smtPrompt } from '../../src/verify/prompt.js';
import { noTool, verdictCounts, verdictOf } from '../../src/verify/tool.js';
import { plainKey } from './needs-sandbox.js';

const options = { languages: pythonLanguages, bare: false };

test('the last complete block that is python or untagged is the program', () => {
  const reply = 'First:\n```python\nprint(1)\n```\nBetter:\n```\nprint(2)\n```\nIt prints\n```text\n2\n```\n';
  assert.equal(extractProgram(reply, options), 'print(2)\n');
  assert.equal(extractProgram('```Python title="x"\nprint(3)\n```', options), 'print(3)\n');
  assert.equal(extractProgram('~~~py\nprint(4)\n~~~~', options), 'print(4)\n');
  assert.equal(extractProgram('```python\r\nprint(5)\r\n```\r\n', options), 'print(5)\n');
});

test('a block that was cut off is no program, also after a complete one of another language', () => {
  assert.equal(extractProgram('```python\nprint(1)', options), null);
  assert.equal(extractProgram('```js\n1\n```\n```python\nprint(1)\n', options), null);
  assert.equal(extractProgram('```python\nprint(1)\n```\n```python\nprint(', options), 'print(1)\n');
});

test('a fence inside a longer fence does not close it', () => {
  assert.equal(
    extractProgram('````python\ns = """\n```\n"""\nprint(s)\n````', options),
    's = """\n```\n"""\nprint(s)\n',
  );
});

test('a reply without a fence is a program only when asked for, a blank one never', () => {
  assert.equal(extractProgram('print(1)', options), null);
  assert.equal(extractProgram(' print(1) ', { ...options, bare: true }), 'print(1)\n');
  assert.equal(extractProgram('  \n', { ...options, bare: true }), null);
  assert.equal(extractProgram('```python\n \n```', options), null);
  assert.equal(extractProgram('```python\nprint(1)', { ...options, bare: true }), null);
});

const ok = (line: string | null, literal: boolean | null = false): FinishedRun => ({
  outcome: 'ok',
  line,
  detail: '',
  literal,
});

test('verified means: ended well and the last line has the key of the own answer', () => {
  assert.deepEqual(judge(ok('2/4'), '1/2', plainKey, 'zero'), verdictOf('verified', '', { output: '2/4' }));
  assert.equal(judge(ok('14'), '11', plainKey, 'zero').reason, 'refuted');
  assert.equal(judge(ok(null), '11', plainKey, 'zero').reason, 'no output');
  const failed = judge(
    { outcome: 'runtime error', line: '11', detail: 'ZeroDivisionError', literal: false },
    '11',
    plainKey,
    'zero',
  );
  assert.deepEqual([failed.value, failed.reason, failed.output], [0, 'runtime error', '11']);
});

test('what could not be checked is missing, what went wrong is 0', () => {
  const value = (outcome: FinishedRun['outcome']): unknown =>
    judge({ outcome, line: null, detail: '', literal: null }, '1', plainKey, 'zero').value;
  for (const reason of ['timeout', 'wall backstop', 'missing import', 'sandbox error'] as const) {
    assert.equal(value(reason), 'missing', reason);
  }
  for (const reason of [
    'syntax error',
    'runtime error',
    'memory',
    'process limit',
    'output limit',
    'program too large',
    'no output',
  ] as const) {
    assert.equal(value(reason), 0, reason);
  }
});

test('a program that prints only literals is no evidence, or is only counted, as asked', () => {
  const run = ok('14', true);
  assert.deepEqual(
    [judge(run, '14', plainKey, 'zero').reason, judge(run, '14', plainKey, 'zero').value],
    ['hardcoded', 0],
  );
  const counted = judge(run, '14', plainKey, 'count');
  assert.deepEqual([counted.reason, counted.hardcoded], ['verified', true]);
  const ignored = judge(run, '14', plainKey, 'off');
  assert.deepEqual([ignored.reason, ignored.hardcoded], ['verified', false]);
});

test('floats, fractions and whole numbers from programs meet the keys of answers', () => {
  const value = (line: string, answer: string): unknown =>
    judge(ok(line), canonical(answer)!, canonical, 'zero').value;
  assert.equal(value('2.9999999999999996', '3'), 1);
  assert.equal(value('0.3333333333333333', '\\frac{1}{3}'), 1);
  assert.equal(value('14.0', '14'), 1);
  assert.equal(value('0.333', '1/3'), 0);
});

test('the trace is shown without its final box and the sentence around it', () => {
  assert.equal(hideAnswer('4*2=8, 3+8=11.\\boxed{11}'), '4*2=8, 3+8=11.');
  assert.equal(
    hideAnswer('We add 3.5 and 4.5. Then 8.0. So the answer is $\\boxed{\\frac{16}{2}}$.'),
    'We add 3.5 and 4.5. Then 8.0.',
  );
  assert.equal(hideAnswer('One \\boxed{1}.\nTwo\nFinal: \\boxed{2}\nDone'), 'One \\boxed{1}.\nTwo\n\nDone');
  assert.equal(hideAnswer('Steps. The answer is 7'), 'Steps.');
  assert.equal(hideAnswer('The answer is even. Hence 3+5.'), 'The answer is even. Hence 3+5.');
  assert.equal(hideAnswer('Steps.\n<answer>\\boxed{7}</answer>'), 'Steps.');
  assert.equal(hideAnswer('Cut off \\boxed{12'), '');
});

test('the verifier sees the answer only when asked to, and is told to recompute', () => {
  const input = { question: '3+4*2=?', trace: '4*2=8, 3+8=11.\\boxed{11}', answer: '11' };
  const hidden = pythonPrompt(input, { libraries: ['math', 'sympy'], showAnswer: false });
  assert.doesNotMatch(hidden.user, /boxed|Claimed/);
  assert.match(hidden.user, /4\*2=8, 3\+8=11\./);
  assert.match(hidden.system, /Do not trust/);
  assert.match(hidden.system, /math, sympy/);
  assert.match(pythonPrompt(input, { libraries: [], showAnswer: true }).user, /Claimed answer: 11/);
  assert.match(smtPrompt(input, { showAnswer: false }).system, /SMT-LIB 2/);
});

test('verdicts are counted by reason', async () => {
  const verdicts = [
    verdictOf('verified'),
    verdictOf('no output'),
    verdictOf('no output'),
    verdictOf('hardcoded', '', { hardcoded: true }),
  ];
  assert.deepEqual(verdictCounts(verdicts), {
    'verdict/verified': 1,
    'verdict/no_output': 2,
    'verdict/hardcoded': 1,
    'verdict/programs_hardcoded': 1,
  });
  const check = { question: '', trace: '', answer: null, key: null, reply: null };
  const none = await noTool.check([check, { ...check, answer: '1', key: '1' }]);
  assert.deepEqual(
    none.map((verdict) => [verdict.value, verdict.reason]),
    [
      [0, 'no answer'],
      [0, 'not checked'],
    ],
  );
});
