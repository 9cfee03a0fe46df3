/** CSV by RFC 4180 (quotes, doubled quotes, line breaks inside quotes), first row = names; fields are text, untouched. */

import { basename } from 'node:path';
import { VfError } from '../errors.js';
import { readLines } from './lines.js';
import type { Row } from './rows.js';

/** Rows of a CSV or TSV file; a row with another number of fields than the header is an error with its line. */
export async function* readCsv(file: string, separator: ',' | '\t'): AsyncGenerator<Row> {
  let names: string[] | undefined;
  for await (const { line, fields, text } of records(file, separator)) {
    if (names === undefined) {
      names = fields;
      continue;
    }
    if (fields.length !== names.length) {
      throw new VfError(
        'VF_DATA',
        `row at line ${line} of ${basename(file)} has ${fields.length} fields, the header has ${names.length}`,
        {
          file,
          line,
          text: text.slice(0, 200),
          hint: 'put fields that hold separators or quotes in double quotes',
        },
      );
    }
    yield { file, line, text, value: Object.fromEntries(names.map((name, i) => [name, fields[i]])) };
  }
}

async function* records(file: string, separator: string) {
  let start = 0;
  let pending = '';
  for await (const { line, text } of readLines(file)) {
    const whole = start === 0 ? text : `${pending}\n${text}`;
    if (start === 0) start = line;
    const fields = splitRecord(whole, separator);
    if (fields === undefined) {
      pending = whole;
      continue;
    }
    if (whole !== '') yield { line: start, fields, text: whole };
    start = 0;
  }
  if (start !== 0) {
    throw new VfError('VF_DATA', `a quote opened at line ${start} of ${basename(file)} is never closed`, {
      file,
      line: start,
    });
  }
}

/** The fields of a record; undefined while a quoted field is still open. */
function splitRecord(text: string, separator: string): string[] | undefined {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    let field = '';
    if (text[at] === '"') {
      at++;
      for (;;) {
        const end = text.indexOf('"', at);
        if (end < 0) return undefined;
        field += text.slice(at, end);
        at = end + 1;
        if (text[at] !== '"') break;
        field += '"';
        at++;
      }
    }
    const end = text.indexOf(separator, at);
    fields.push(field + text.slice(at, end < 0 ? text.length : end));
    if (end < 0) return fields;
    at = end + 1;
  }
}
