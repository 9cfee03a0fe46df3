/** MMLU-Pro: 12,032 questions of 14 subjects with up to ten options. */

import { choiceItem, columnText, optionTexts, requireText } from '../rows.js';
import type { Task } from '../task.js';

export const mmluPro: Task = {
  name: 'mmlu-pro',
  metric: 'mmlu-pro',
  about: 'MMLU-Pro, 14 subjects, up to ten options',
  source: {
    kind: 'hub',
    hub: { repo: 'TIGER-Lab/MMLU-Pro', files: ['data/test-00000-of-00001.parquet'] },
  },
  rows: 12_032,
  read(row) {
    const letter = requireText(row, 'answer');
    const solution = columnText(row, 'cot_content');
    const item = choiceItem(row, {
      id: columnText(row, 'question_id') || String(row.line),
      question: requireText(row, 'question'),
      options: optionTexts(row, 'options'),
      gold: /^[A-Z]$/.test(letter) ? letter.charCodeAt(0) - 65 : -1,
      category: requireText(row, 'category'),
    });
    return solution === '' ? item : { ...item, solution: solution.replace(/^A:\s*/, 'Answer: ') };
  },
  examples: { kind: 'rows', files: ['data/validation-00000-of-00001.parquet'], shots: 5 },
};
