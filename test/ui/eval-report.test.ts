/** The report of an evaluation: one page that loads nothing and runs nothing that a model wrote. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scoreReplies } from '../../src/eval/score.js';
import type { TaskReport } from '../../src/run/evaluation.js';
import { renderEvalReport } from '../../src/ui/eval-report.js';
import { reply } from '../eval/rows.js';

const rows = [0, 1, 2, 3].map((index) =>
  reply({
    index,
    category: index < 2 ? 'law' : '<b>art</b>',
    correct: index > 0,
    answer: 'A',
    confidence: index / 4,
    text: '<script>alert(1)</script>\u001b[2J',
  }),
);

const task: TaskReport = {
  ...{ task: 'toy', metric: 'toy', ...scoreReplies(rows), dropped: { 'prompts above 9 tokens': 2 } },
  compat: { 'mmlu-pro': { accuracy: 0.5, missed: 0.25, guessed: 0.25 } },
  overlap: { file: 'train.jsonl', words: 13, overlapping: 1, same: 0, cleanAccuracy: 0.5, examples: [] },
  hashes: { data: 'aa', prompts: 'bb', extractor: 'cc' },
  data: { file: 'toy.jsonl', revision: 'c0ffee' },
  prompt: { style: 'verifree', shots: 0, chat: false, example: 'What?' },
  sampling: { temperature: 0, topP: 1, topK: 0, maxTokens: 64, seed: 1 },
};

const html = renderEvalReport(
  { v: 1, run: 'eval-1', model: 'm', created: '2026-01-01', vf: '0.1.0', tasks: [task] },
  rows,
  { samples: 1 },
  { samples: '--samples' },
);

test('scores, hashes, rules, overlap and plots stand in it', () => {
  const parts = [
    '75.0 % ± 25.0',
    'data aa, prompts bb, extractor cc',
    'toy.jsonl at c0ffee',
    'by the rule of mmlu-pro 50.0 %: nothing found 25.0 %, drawn at random 25.0 %',
    '1 of 4 questions share 13 words in a row with train.jsonl',
    'left out: 2 prompts above 9 tokens',
  ];
  for (const part of parts) assert.ok(html.includes(part), part);
  assert.equal(html.match(/<svg /g)!.length, 3);
});

test('nothing is loaded, and replies and categories are plain text', () => {
  assert.doesNotMatch(html, /<script|<b>art|\u001b|(src|href)=/);
  assert.ok(html.includes('&lt;script&gt;alert(1)&lt;/script&gt;␛[2J'));
});
