/** The user's own questions, the bundled ones, and generated Knights-and-Knaves puzzles. */

import { toQuestion } from '../../data/fields.js';
import { knightsQuestions } from '../../data/knights.js';
import { choiceItem, wrongRow } from '../rows.js';
import type { Task } from '../task.js';

/** The tiny model's test questions, judged as `vf train` judges them. */
export const bundled: Task = {
  name: 'bundled',
  metric: 'bundled-test',
  about: "the tiny model's test questions",
  source: { kind: 'bundled', set: 'test' },
  rows: null,
  read(row, { map }) {
    const { id, question, answers, category } = toQuestion(row, map);
    return { id, question, answers, category, judge: 'boxed' };
  },
};

/** Any file of questions; rows with options are multiple choice, their answer a letter or an option's text. */
export const jsonl: Task = {
  name: 'jsonl',
  metric: 'jsonl',
  about: 'any file of questions (--data FILE, --map answer=NAME)',
  source: { kind: 'file' },
  rows: null,
  read(row, { map }) {
    const { id, question, answers, category, options } = toQuestion(row, map);
    if (answers.length === 0) throw wrongRow(row, 'no reference answer', 'text, a number or a boolean');
    if (options === undefined || options.length < 2)
      return { id, question, answers, category, judge: 'boxed' };
    const trimmed = options.map((option) => option.trim());
    const byText = trimmed.indexOf(answers[0]!.trim());
    const letter = /^\(?([A-Z])\)?$/.exec(answers[0]!.trim())?.[1];
    const gold = byText >= 0 ? byText : letter === undefined ? -1 : letter.charCodeAt(0) - 65;
    return choiceItem(row, { id, question, options, gold, category });
  },
};

/** Puzzles when --limit does not say how many. */
const PUZZLES = 200;

/** 2 to 5 people, seeded, each puzzle with one solution. */
export const knights: Task = {
  name: 'knights',
  metric: 'knights',
  about: 'generated Knights-and-Knaves puzzles with 2 to 5 people',
  source: { kind: 'generated' },
  rows: null,
  generate: ({ seed }, count) =>
    knightsQuestions({ seed, count: count || PUZZLES, people: [2, 3, 4, 5], form: 'story' }).map(
      ({ id, question, answer, people }) => ({
        id,
        question,
        answers: [answer],
        category: `${people} people`,
        judge: 'knights',
      }),
    ),
};
