/** SuperGPQA: 26,529 graduate questions of 13 disciplines, four to ten options. */

import { choiceItem, columnText, optionTexts, requireText } from '../rows.js';
import type { Task } from '../task.js';

export const superGpqa: Task = {
  name: 'supergpqa',
  metric: 'supergpqa',
  about: 'SuperGPQA, 13 disciplines, 285 subfields',
  source: { kind: 'hub', hub: { repo: 'm-a-p/SuperGPQA', files: ['SuperGPQA-all.jsonl'] } },
  rows: 26_529,
  read(row) {
    const letter = requireText(row, 'answer_letter');
    const discipline = requireText(row, 'discipline');
    const field = `${discipline}/${columnText(row, 'field')}`;
    const item = choiceItem(row, {
      id: columnText(row, 'uuid') || String(row.line),
      question: requireText(row, 'question'),
      options: optionTexts(row, 'options'),
      gold: /^[A-Z]$/.test(letter) ? letter.charCodeAt(0) - 65 : -1,
      category: discipline,
    });
    const groups = {
      field,
      subfield: `${field}/${columnText(row, 'subfield')}`,
      difficulty: columnText(row, 'difficulty'),
    };
    return { ...item, groups };
  },
};
