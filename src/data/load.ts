/** Questions of a data file: the one way in which every command reads data. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { VfError } from '../errors.js';
import { type FieldMap, neededColumns, noAnswer, toQuestion } from './fields.js';
import type { Question } from './question.js';
import { dataFiles, readRows } from './rows.js';

export interface LoadOptions {
  map?: FieldMap;
  /** First rows only. */
  limit?: number;
  /** required: a row without reference answer is an error. optional: it is kept (unlabeled questions, filters). */
  answers: 'required' | 'optional';
}

/** Questions one by one, in file order. Errors carry file and line. */
export async function* readQuestions(path: string, options: LoadOptions): AsyncGenerator<Question> {
  const map = options.map ?? {};
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  let count = 0;
  for await (const row of readRows(path, neededColumns(map))) {
    if (count >= limit) return;
    const question = toQuestion(row, map);
    if (options.answers === 'required' && question.answers.length === 0) throw noAnswer(row, map);
    count++;
    yield question;
  }
}

/** All questions of a path; a path without any is an error. */
export async function loadQuestions(path: string, options: LoadOptions): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const question of readQuestions(path, options)) questions.push(question);
  if (questions.length === 0) {
    throw new VfError('VF_DATA', `Expected questions in ${basename(path)} but found no row`, { file: path });
  }
  return questions;
}

/** SHA-256 of a data set's bytes, file after file, as hex; for manifests. */
export async function hashData(path: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await dataFiles(path)) {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

/** A question as a line of JSONL, without its line break; reading it again gives the same question. */
export function questionLine(question: Question): string {
  const { id, question: text, answers, category, options } = question;
  const answer =
    answers.length === 1 ? { answer: answers[0] } : answers.length > 1 ? { answer: answers } : {};
  return JSON.stringify({
    id,
    question: text,
    ...answer,
    ...(category ? { category } : {}),
    ...(options ? { options } : {}),
  });
}
