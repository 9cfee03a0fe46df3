/** Mathematics with free answers: MATH-500, Minerva (272 OCW questions), GSM8K, AMC and AIME 2024. */

import type { FieldMap } from '../../data/fields.js';
import type { Row } from '../../data/rows.js';
import { extractBoxed } from '../../text/answer.js';
import { columnText, freeItem, requireText, wrongRow } from '../rows.js';
import type { Item, Task } from '../task.js';

/** The first of the names that the row has, so that copies of a set with other column names are read. */
function present(row: Row, ...names: string[]): string {
  return names.find((name) => name in row.value) ?? names[0]!;
}

function mapped(row: Row, map: FieldMap): Item {
  return freeItem(row, map);
}

export const math500: Task = {
  name: 'math-500',
  metric: 'math-500',
  about: 'MATH-500, seven subjects, five levels',
  source: { kind: 'hub', hub: { repo: 'HuggingFaceH4/MATH-500', files: ['test.jsonl'] } },
  rows: 500,
  read(row) {
    const item = mapped(row, {
      question: 'problem',
      answer: 'answer',
      category: 'subject',
      id: 'unique_id',
    });
    return { ...item, groups: { level: columnText(row, 'level') } };
  },
};

export const minerva: Task = {
  name: 'minerva',
  metric: 'minerva',
  about: 'Minerva Math: the 272 OpenCourseWare questions (not the MATH test set)',
  source: { kind: 'hub', hub: { repo: 'math-ai/minervamath', files: ['test.jsonl'] } },
  rows: 272,
  read(row) {
    const question = present(row, 'problem', 'question');
    const category = 'type' in row.value ? { category: 'type' } : {};
    if ('answer' in row.value) return mapped(row, { question, answer: 'answer', ...category });
    // Copies without an answer column state it in the solution's box.
    const answer = extractBoxed(requireText(row, 'solution'));
    if (answer === null) throw wrongRow(row, 'no boxed answer in "solution"', 'an "answer" column or a box');
    const id = String(row.line);
    return {
      id,
      question: requireText(row, question),
      answers: [answer],
      category: columnText(row, 'type'),
      judge: 'answer',
    };
  },
};

export const gsm8k: Task = {
  name: 'gsm8k',
  metric: 'gsm8k',
  about: 'GSM8K, grade-school word problems',
  source: {
    kind: 'hub',
    hub: { repo: 'openai/gsm8k', files: ['main/test-00000-of-00001.parquet'] },
  },
  rows: 1_319,
  read(row) {
    return {
      ...mapped(row, { question: 'question', answer: 'answer' }),
      solution: columnText(row, 'answer'),
    };
  },
  examples: {
    kind: 'rows',
    files: ['main/train-00000-of-00001.parquet', 'train.jsonl', 'train.parquet'],
    shots: 5,
  },
};

export const amc: Task = {
  name: 'amc',
  metric: 'amc',
  about: 'AMC 2023: 40 questions; copies with 83 exist, so that the count stands beside the score',
  source: {
    kind: 'hub',
    hub: { repo: 'zwhe99/amc23', files: ['data/test-00000-of-00001.parquet'] },
  },
  rows: null,
  read: (row) =>
    mapped(row, {
      question: present(row, 'problem', 'question'),
      answer: present(row, 'answer', 'final_answer'),
    }),
};

export const aime24: Task = {
  name: 'aime24',
  metric: 'aime24',
  about: 'AIME 2024, answers 0 to 999',
  source: {
    kind: 'hub',
    hub: { repo: 'HuggingFaceH4/aime_2024', files: ['data/train-00000-of-00001.parquet'] },
  },
  rows: 30,
  read(row) {
    const id = present(row, 'id', 'ID');
    return mapped(row, {
      question: present(row, 'problem', 'Problem'),
      answer: present(row, 'answer', 'Answer'),
      ...(id in row.value ? { id } : {}),
    });
  },
};
