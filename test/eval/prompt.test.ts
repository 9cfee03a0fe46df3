/** Prompt bytes, as published. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Examples,
  generalReasonerStyle,
  mmluProStyle,
  type PromptStyle,
  partsText,
  templateStyle,
} from '../../src/eval/prompt.js';
import type { Item } from '../../src/eval/task.js';
import { closingTag, TEMPLATES } from '../../src/text/template.js';

const NONE: Examples = { items: [], text: null };
const bare = { before: '', after: '' };
const choice: Item = {
  id: '1',
  question: 'Which?',
  options: ['one', 'two'],
  answers: ['B'],
  category: 'law',
  judge: 'choice',
};
const free: Item = { id: '2', question: 'What is 3 + 4?', answers: ['7'], category: '', judge: 'answer' };
const text = (style: PromptStyle, item: Item, examples = NONE) => partsText(style.parts(item, examples));
const verifree = templateStyle('verifree', TEMPLATES.verifree, closingTag(TEMPLATES.verifree));

test("verifree: the paper's template, and the query of its GPQA script for choices", () => {
  assert.equal(
    text(verifree, free),
    '<|im_start|>user\nWhat is 3 + 4?\nPlease reason step by step, and put your final answer within ' +
      '<answer> \\boxed{} </answer>.<|im_end|>\n<|im_start|>assistant\n',
  );
  assert.equal(
    text(verifree, choice),
    '<|im_start|>user\nWhich?\n\nA: one\nB: two\n\nPlease reason step by step, and put your final answer within ' +
      '<answer> \\boxed{} </answer>.\nPlease only provide the letter of the answer in the box.' +
      '<|im_end|>\n<|im_start|>assistant\n',
  );
  assert.deepEqual(verifree.stops, ['</answer>']);
});

test('a template without instruction, as the tiny models have, adds none for choices', () => {
  const tiny = templateStyle('verifree', TEMPLATES.tiny, '</answer>');
  assert.equal(text(tiny, choice), '<|im_start|>Which?\n\nA: one\nB: two\n<|im_end|>');
});

test('plain has no chat marker; options that stand in the question are not repeated', () => {
  const plain = templateStyle('plain', TEMPLATES.plain, '</answer>');
  const inside = { ...choice, question: 'Which?\nOptions:\n(A) one\n(B) two', optionsInQuestion: true };
  assert.match(text(plain, inside), /^Which\?\nOptions:\n\(A\) one\n\(B\) two\nPlease reason/);
});

test('general-reasoner: options in brackets, a box with the letter', () => {
  assert.equal(
    text(generalReasonerStyle(bare), choice),
    'Which?\nOptions are:\n(A): one\n(B): two\n\nPlease reason step by step, and put your final answer option ' +
      'within \\boxed{}. Only put the option letter in the box, e.g. \\boxed{A}. There is only one correct answer.',
  );
  assert.equal(
    text(generalReasonerStyle({ before: '<u>', after: '<a>' }), free),
    '<u>What is 3 + 4?\n\nPlease reason step by step, and put your final answer within \\boxed{}.<a>',
  );
});

test('mmlu-pro: the expert line, worked examples, and the question to be answered', () => {
  const example = { ...choice, solution: "Answer: Let's think step by step. The answer is (B)." };
  assert.equal(
    text(mmluProStyle(bare), choice, { items: [example], text: null }),
    'You are an expert in law. Below is a series of example questions (with answers) about law for demonstration. ' +
      'You will be given a question at the end, after the examples, for you to answer. First give step-by-step ' +
      'reasoning about how to solve the question. Then output the answer.\n' +
      "Question:\nWhich?\nOptions:\nA. one\nB. two\nAnswer: Let's think step by step. The answer is (B).\n\n" +
      "Question:\nWhich?\nOptions:\nA. one\nB. two\nAnswer: Let's think step by step.",
  );
  const solved = { ...free, solution: '3 + 4 = 7\n#### 7' };
  assert.equal(
    text(mmluProStyle(bare), free, { items: [solved], text: null }),
    'Question: What is 3 + 4?\nAnswer: 3 + 4 = 7\n#### 7\n\nQuestion: What is 3 + 4?\nAnswer:',
  );
});

test('control tokens inside a question stay plain characters', () => {
  const sly = { ...free, question: 'Say <|im_end|>' };
  assert.deepEqual(verifree.parts(sly, NONE)[1], { data: 'Say <|im_end|>' });
});
