/** What holds for all answers: keys are an equivalence, the judge respects it, nothing throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { extractBoxed, extractChoice } from '../../src/text/answer.js';
import { canonical, equal } from '../../src/text/equal.js';
import { answer, formula, structure } from './answers.js';

const runs = { numRuns: Number(process.env.RUNS ?? 400), seed: Number(process.env.SEED ?? 20240607) };

test('the judge never throws and never says true when a key is null', () => {
  fc.assert(
    fc.property(answer, answer, (gold, prediction) => {
      const verdict = equal(gold, prediction);
      if (canonical(gold) === null || canonical(prediction) === null) assert.equal(verdict, false);
    }),
    runs,
  );
});

test('an answer with a key equals itself', () => {
  fc.assert(
    fc.property(answer, (text) => {
      assert.equal(equal(text, text), canonical(text) !== null);
    }),
    runs,
  );
});

test('equal keys give true both ways where no unknown is named', () => {
  const rewritten = structure.chain((text) =>
    fc
      .constantFrom(
        text,
        `\\boxed{${text}}`,
        `$${text}$`,
        ` ${text} .`,
        `\\displaystyle ${text}`,
        `\\left.${text}\\right.`,
      )
      .map((other) => [text, other] as const),
  );
  fc.assert(
    fc.property(rewritten, ([text, other]) => {
      assert.equal(canonical(other), canonical(text));
      assert.equal(equal(text, other), canonical(text) !== null);
      assert.equal(equal(other, text), canonical(text) !== null);
    }),
    runs,
  );
});

test('answers that fall on one key are equal to each other in either order', () => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(structure, (text) => {
      const key = canonical(text);
      if (key === null) return;
      const other = seen.get(key) ?? text;
      seen.set(key, text);
      assert.equal(equal(text, other) && equal(other, text), true, `${text} ||| ${other}`);
    }),
    { ...runs, numRuns: 1500 },
  );
});

test('the name of one assignment is dropped from the key, and two names are not equal', () => {
  fc.assert(
    fc.property(formula, (text) => {
      const key = canonical(text);
      fc.pre(!/[xy]/.test(text) && key !== null && !key.startsWith('text:'));
      assert.equal(canonical(`x=${text}`), canonical(text));
      assert.equal(equal(`x=${text}`, `y=${text}`), false);
      assert.equal(equal(text, `x=${text}`), true);
    }),
    runs,
  );
});

test('the value of two rationals decides whether they are equal', () => {
  const part = fc.integer({ min: 1, max: 60 });
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      assert.equal(equal(`\\frac{${a}}{${b}}`, `${c}/${d}`), a * d === b * c);
    }),
    runs,
  );
});

test('letters are within the options, and extraction never throws', () => {
  const word = fc.constantFrom(
    'The answer is',
    'A',
    'B',
    '(C)',
    'D.',
    'not',
    'or',
    'is correct',
    '\\boxed{',
    '}',
    '<answer>',
    '</answer>',
    '<think>',
    '</think>',
    '\n',
    'I',
    'option',
    ':',
    'Question:',
    '**',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.integer({ min: 0, max: 10 }), (words, count) => {
      const text = words.join(' ');
      const letter = extractChoice(text, count);
      if (letter !== null)
        assert.ok(letter.length === 1 && letter.charCodeAt(0) - 65 < count && letter >= 'A');
      const box = extractBoxed(text);
      assert.ok(box === null || box.trim() === box);
    }),
    runs,
  );
});
