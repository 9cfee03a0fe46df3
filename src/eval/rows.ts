/** Rows of published data sets as items: named columns, options with a gold among them, all with file and line in errors. */

import { basename } from 'node:path';
import { type FieldMap, toQuestion } from '../data/fields.js';
import type { Row } from '../data/rows.js';
import { VfError } from '../errors.js';
import type { Item, JudgeKind } from './task.js';

/** `A` for 0. */
export function letterOf(index: number): string {
  return String.fromCharCode(65 + index);
}

/** A column's text, trimmed; '' where the row has none. */
export function columnText(row: Row, name: string): string {
  const value = row.value[name];
  return value === undefined || value === null ? '' : String(value).trim();
}

/** A column that must be there and hold text. */
export function requireText(row: Row, name: string): string {
  const text = columnText(row, name);
  if (text !== '') return text;
  throw wrongRow(row, `no text in "${name}"`, `columns as published, such as "${name}"`);
}

/** The error of a row that is not of the published form. */
export function wrongRow(row: Row, what: string, expected: string): VfError {
  return new VfError('VF_DATA', `row ${row.line} of ${basename(row.file)} has ${what}`, {
    file: row.file,
    line: row.line,
    text: row.text.slice(0, 200) || undefined,
    expected,
    hint: `its columns are ${Object.keys(row.value).join(', ')}; another form of data runs as \`vf eval jsonl --data FILE --map …\``,
  });
}

/** A question with a free answer, by the names of its columns. */
export function freeItem(row: Row, map: FieldMap, judge: JudgeKind = 'answer'): Item {
  const { id, question, answers, category } = toQuestion(row, map);
  if (answers.length === 0) throw wrongRow(row, 'no reference answer', `text in "${map.answer ?? 'answer'}"`);
  return { id, question, answers, category, judge };
}

/** Options without outer white space and without `N/A` pads; the gold is given by its index among all of them. */
export function choiceItem(
  row: Row,
  parts: { id: string; question: string; options: readonly string[]; gold: number; category: string },
): Item {
  const { id, question, options, gold, category } = parts;
  if (!(gold >= 0 && gold < options.length)) {
    throw wrongRow(
      row,
      `answer ${gold < 0 ? 'none' : letterOf(gold)} of ${options.length} options`,
      'an answer among the options',
    );
  }
  const kept = options
    .map((option, index) => ({ text: option.trim(), index }))
    .filter(({ text, index }) => index === gold || !/^n\/a$/i.test(text));
  return {
    id,
    question: question.trim(),
    options: kept.map(({ text }) => text),
    answers: [letterOf(kept.findIndex(({ index }) => index === gold))],
    category,
    judge: 'choice',
  };
}

/** The texts of an `options` column; a CSV cell may hold them as JSON. */
export function optionTexts(row: Row, name: string): string[] {
  const value = row.value[name];
  const list = typeof value === 'string' ? parsed(value) : value;
  if (Array.isArray(list) && list.length > 1) return list.map(String);
  throw wrongRow(row, `no list of options in "${name}"`, 'two options or more');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
