/** Hostile answers and replies: each is settled in little time, none runs as code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extractBoxed, extractChoice } from '../../src/text/answer.js';
import { canonical, equal } from '../../src/text/equal.js';

const many = (text: string, count: number) => text.repeat(count);

const answers: Record<string, string> = {
  'a tower of powers': '9^9^9^9^9^9',
  'a braced tower': '10^{10^{10^{10^{10}}}}',
  'a huge factorial': '10000000!',
  'nested factorials': '((((5!)!)!)!)!',
  'a power at the limit': '3^{99999}+7^{60000}',
  'a huge exponent': '2^{1000000000}',
  'a fraction of factorials': '\\frac{1}{2004!}',
  'a million open braces': many('{', 1_000_000),
  'nested braces': `${many('{', 9000)}5${many('}', 9000)}`,
  'nested parentheses': `${many('(', 9000)}5${many(')', 9000)}`,
  'nested fractions': `${many('\\frac{1}{1+', 1000)}x${many('}', 1000)}`,
  'a long sum': `${many('1+', 9000)}1`,
  'a long list': many('\\sin x, ', 1500),
  'a sum to a billion': '\\sum_{k=1}^{1000000000} k',
  'nested sums': '\\sum_{k=1}^{2000}\\sum_{j=1}^{2000} jk',
  'a harmonic sum': '\\sum_{k=1}^{2000} \\frac{1}{k}',
  'a double integral': '\\int_0^1\\int_0^1 \\sin(xy) dx dy',
  'powers of powers': `${many('(', 60)}x+1${many(')^{99}', 60)}`,
  'many digits': many('7', 19_000),
  'a huge E-notation': '1e999999999',
  'products of matrices': many('\\begin{pmatrix}1&x\\\\2&3\\end{pmatrix}', 60),
  'a large determinant': `\\begin{vmatrix}${Array(8).fill(Array(8).fill('x').join('&')).join('\\\\')}\\end{vmatrix}`,
  'many plus-minus signs': many('\\pm1', 1000),
  'many intervals': `${many('(1,2)\\cup', 400)}(3,4)`,
  'many conditions': Array.from({ length: 300 }, (_, k) => `x\\ne ${k}`).join(','),
  'many bars': many('|x', 2000),
  'white space': `${many(' ', 199_999)}x`,
  'white space at the end': `5${many(' ', 19_000)}x`,
  'digits in groups': `1,${many('234,', 4000)}`,
  'many boxes': many('\\boxed{5},', 2000),
  'text commands': `${many('\\text{', 3000)}${many('}', 3000)}`,
};

const replies: Record<string, string> = {
  '200 kB of spaces and letters': many('a b C d ', 25_000),
  '200 kB of spaces': many(' ', 200_000),
  'anchors without an answer': many('the answer is ', 15_000),
  negations: many('the answer is not A but ', 9000),
  'lists of letters': many('A, ', 70_000),
  'open brackets': many('(A', 100_000),
  'open boxes': many('\\boxed{', 30_000),
  'a box that is never closed': `\\boxed{${many('{', 1_000_000)}`,
  'open thinking': many('<think>', 30_000),
  'closed thinking': many('<think></think>', 14_000),
  'line ends': many('\n', 200_000),
  questions: many('\nquestion ', 20_000),
  emphasis: many('*', 200_000),
  quotes: many('"\'`', 70_000),
};

/** Processor time of the fastest of three runs: other programs on the machine do not count. */
function milliseconds(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let k = 0; k < 3; k++) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

for (const [what, text] of Object.entries(answers)) {
  test(`an answer of ${what} is judged within 50 ms`, () => {
    assert.ok(milliseconds(() => canonical(text)) < 50);
    assert.ok(milliseconds(() => equal('5', text)) < 50);
    assert.equal(equal('5', text), what === 'many boxes');
  });
}

for (const [what, text] of Object.entries(replies)) {
  test(`a reply of ${what} is searched within 50 ms`, () => {
    assert.ok(milliseconds(() => extractChoice(text, 10)) < 50);
    assert.ok(milliseconds(() => extractBoxed(text)) < 50);
    assert.equal(extractBoxed(text), null);
  });
}

test('answers that are code are only text', () => {
  const global = globalThis as { touched?: boolean };
  const codes = [
    'process.exit(1)',
    'globalThis.touched = true',
    '`$' + '{globalThis.touched = true}`',
    '__import__("os").system("id")',
    'eval("5")',
  ];
  for (const code of codes) {
    assert.equal(equal('5', code), false);
    assert.equal(equal(code, '5'), false);
  }
  assert.equal(global.touched, undefined);
});
