/** Replies for tests of scores: only what a test says differs. */

import type { ReplyRow } from '../../src/run/evaluation.js';

/** A reply of a task with a choice of four, sampled greedily. */
export function reply(changes: Partial<ReplyRow>): ReplyRow {
  return {
    v: 1,
    task: 'toy',
    index: 0,
    id: String(changes.index ?? 0),
    sample: 0,
    judge: 'choice',
    answers: ['A'],
    category: '',
    options: ['one', 'two', 'three', 'four'],
    promptHash: 'p',
    promptTokens: 3,
    shots: 0,
    maxTokens: 10,
    seed: 1,
    ids: [1, 2, 3, 4],
    text: '',
    finish: 'stop',
    confidence: null,
    seconds: 0.5,
    answer: null,
    correct: false,
    ...changes,
  };
}

/** One reply a verdict, question by question. */
export function verdicts(...questions: readonly (readonly boolean[])[]): ReplyRow[] {
  return questions.flatMap((own, index) =>
    own.map((correct, sample) => reply({ index, sample, correct, answer: correct ? 'A' : 'B' })),
  );
}
