/** From a row to a question: which field is which (`--map answer=solution`), and its value as text. */

import { basename } from 'node:path';
import { VfError } from '../errors.js';
import { numberText } from './exact-json.js';
import type { Question } from './question.js';
import type { Row } from './rows.js';

/** The parts of a question that a file can map. */
export const FIELDS = ['question', 'answer', 'category', 'options', 'id'] as const;
export type Field = (typeof FIELDS)[number];

/** Dotted paths by field; list members by number (`prompt.0.content`). */
export type FieldMap = Partial<Record<Field, string>>;

/** Names tried, in this order, for a field that --map does not give. */
const USUAL: Record<Field, readonly string[]> = {
  question: ['question', 'problem', 'prompt', 'query', 'input'],
  answer: ['answer', 'answers', 'target', 'final_answer', 'reward_model.ground_truth'],
  category: ['category', 'subject', 'discipline'],
  options: ['options', 'choices'],
  id: ['id', 'uid', 'unique_id', 'question_id'],
};

/** Parses --map values such as `answer=solution`, `question=prompt.0.content`. */
export function parseFieldMap(pairs: readonly string[]): FieldMap {
  const map: FieldMap = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const field = FIELDS.find((name) => name === pair.slice(0, at));
    if (at < 0 || field === undefined || at === pair.length - 1) {
      throw new VfError(
        'VF_INVALID_VALUE',
        `Expected FIELD=PATH (FIELD one of ${FIELDS.join(', ')}) for --map but received ${JSON.stringify(pair)}`,
        { hint: 'for example --map answer=solution, or --map question=prompt.0.content' },
      );
    }
    map[field] = pair.slice(at + 1);
  }
  return map;
}

/** The top-level columns that a map can need, among those of a file. */
export function neededColumns(map: FieldMap): (columns: string[]) => string[] {
  const wanted = new Set(
    FIELDS.flatMap((field) => [map[field] ?? USUAL[field]].flat()).map((path) => path.split('.')[0]),
  );
  return (columns) =>
    columns.filter((column) => wanted.has(column) || FIELDS.some((field) => map[field] === column));
}

/** A row as a question; blank answers are left out (the caller decides whether none is an error). */
export function toQuestion(row: Row, map: FieldMap): Question {
  const found = Object.fromEntries(FIELDS.map((field) => [field, lookUp(row, map, field)])) as Record<
    Field,
    Found
  >;
  const exact =
    row.exact && Object.values(found).some(({ value }) => holdsNumber(value)) ? row.exact() : row.value;
  const fieldOf = (field: Field): unknown =>
    found[field].path === '' ? undefined : at(exact, found[field].path);
  const one = (field: Field): string => textOf(fieldOf(field), row, found[field].path) ?? '';
  const question = one('question');
  if (question.trim() === '') {
    throw rowError(row, 'no question', `a non-empty string in "${found.question.path || 'question'}"`, [
      `its columns are ${columnsOf(row.value).join(', ')}`,
      'name the field: --map question=NAME',
    ]);
  }
  const answers = textsOf(fieldOf('answer'), row, found.answer.path).filter((answer) => answer.trim() !== '');
  const options = textsOf(fieldOf('options'), row, found.options.path);
  return {
    id: one('id') || String(row.line),
    question,
    answers: [...new Set(answers.map(finalAnswer))],
    category: one('category'),
    ...(options.length > 0 ? { options } : {}),
    file: row.file,
    line: row.line,
  };
}

/** The error of a row without reference answer, in the form every command shows. */
export function noAnswer(row: Row, map: FieldMap): VfError {
  const path = lookUp(row, map, 'answer').path;
  const hint =
    `drop such rows with \`vf data filter ${basename(row.file)} --out kept.jsonl\`, ` +
    'or name another field: --map answer=solution';
  return rowError(row, 'no reference answer', `a non-empty string in "${path || 'answer'}"`, [hint]);
}

/** GSM8K's form: the answer stands after `#### ` on the last line, its thousands commas dropped. Else the text itself. */
export function finalAnswer(answer: string): string {
  const last = /(?:^|\n)#### *([^\n]+?)\s*$/.exec(answer)?.[1];
  if (last === undefined) return answer;
  return /^[-+]?\$?[\d,]+(\.\d+)?%?$/.test(last) ? last.replaceAll(',', '') : last;
}

interface Found {
  /** '' when the file has no such field. */
  path: string;
  value: unknown;
}

function lookUp(row: Row, map: FieldMap, field: Field): Found {
  const mapped = map[field];
  if (mapped === undefined) {
    const path = USUAL[field].find((name) => at(row.value, name) !== undefined) ?? '';
    return { path, value: path === '' ? undefined : at(row.value, path) };
  }
  const value = at(row.value, mapped);
  if (value === undefined) {
    throw new VfError(
      'VF_DATA',
      `Expected "${mapped}" (--map ${field}=${mapped}) in row ${row.line} of ${basename(row.file)}`,
      {
        file: row.file,
        line: row.line,
        text: row.text.slice(0, 200) || undefined,
        hint: `its columns are ${columnsOf(row.value).join(', ')}`,
      },
    );
  }
  return { path: mapped, value };
}

/** The value at a dotted path; undefined where there is none. A column whose own name has dots wins. */
function at(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const record = value as Record<string, unknown>;
  if (Object.hasOwn(record, path)) return record[path];
  const dot = path.indexOf('.');
  if (dot < 0 || !Object.hasOwn(record, path.slice(0, dot))) return undefined;
  return at(record[path.slice(0, dot)], path.slice(dot + 1));
}

function holdsNumber(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(holdsNumber);
  return typeof value === 'number';
}

/** All dotted paths of a row, three levels deep, lists by their first member. */
function columnsOf(value: unknown, prefix = '', depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth === 3) return prefix === '' ? [] : [prefix];
  const entries = Array.isArray(value) ? Object.entries(value).slice(0, 1) : Object.entries(value);
  if (entries.length === 0) return [prefix];
  return entries.flatMap(([key, member]) =>
    columnsOf(member, prefix === '' ? key : `${prefix}.${key}`, depth + 1),
  );
}

function textsOf(value: unknown, row: Row, path: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((member) => textsOf(member, row, path));
  // Options as {A: …, B: …}.
  if (
    path !== '' &&
    typeof value === 'object' &&
    numberText(value) === undefined &&
    Object.hasOwn(value, 'A')
  ) {
    return Object.values(value).flatMap((member) => textsOf(member, row, path));
  }
  return [textOf(value, row, path) ?? ''];
}

/** Text of a scalar; 0 and false are answers, only null and absence are none. */
function textOf(value: unknown, row: Row, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint')
    return String(value);
  const number = numberText(value);
  if (number !== undefined) return number;
  const inside = columnsOf(value, path).join(', ');
  throw rowError(row, `a value that is no text in "${path}"`, 'text, a number or a boolean', [
    `map a path inside it: ${inside}`,
  ]);
}

function rowError(row: Row, what: string, expected: string, hints: string[]): VfError {
  return new VfError('VF_DATA', `row ${row.line} of ${basename(row.file)} has ${what}`, {
    file: row.file,
    line: row.line,
    text: row.text.slice(0, 200) || undefined,
    expected,
    hint: hints.join('; '),
  });
}
