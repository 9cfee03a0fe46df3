/** Rows of a data file, whatever its format, before anyone asks what their fields mean. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { VfError } from '../errors.js';
import { readCsv } from './csv.js';
import { type Exact, parseExact } from './exact-json.js';
import { readLines, unreadable } from './lines.js';

/** A row as JSON-like values; parquet adds bigint, and its decimals come as text. */
export interface Row {
  file: string;
  /** 1-based line (JSONL, CSV) or row (parquet, JSON array). */
  line: number;
  value: Record<string, unknown>;
  /** The line's own text, for messages; '' where there is none. */
  text: string;
  /** The value with every number as its source text, so that no digit is lost. */
  exact?: () => Exact;
}

/** Which top-level columns a reader may skip; asked once a file. Formats that read whole rows ignore it. */
export type PickColumns = (columns: string[]) => string[];

const FORMATS = ['.parquet', '.jsonl', '.ndjson', '.json', '.csv', '.tsv'];

/** Rows of a file, or of the data files of one kind in a folder, in the order of their names. */
export async function* readRows(path: string, pick: PickColumns = (all) => all): AsyncGenerator<Row> {
  for (const file of await dataFiles(path)) {
    const format = extname(file).toLowerCase();
    if (format === '.parquet') {
      const { readParquet } = await import('./parquet.js');
      yield* readParquet(file, pick);
    } else if (format === '.csv' || format === '.tsv') {
      yield* readCsv(file, format === '.tsv' ? '\t' : ',');
    } else if (format === '.json') {
      yield* readJsonArray(file);
    } else {
      yield* readJsonl(file);
    }
  }
}

/** The data files that a path stands for: itself, or all files of a folder's first known format. */
export async function dataFiles(path: string): Promise<string[]> {
  const info = await stat(path).catch((cause: Error) => {
    throw unreadable(path, cause);
  });
  if (!info.isDirectory()) return [path];
  const names = (await readdir(path)).sort();
  for (const format of FORMATS) {
    const found = names.filter((name) => extname(name).toLowerCase() === format);
    if (found.length > 0) return found.map((name) => join(path, name));
  }
  throw new VfError('VF_DATA', `Expected data files in ${path} but found none of ${FORMATS.join(', ')}`, {
    file: path,
  });
}

async function* readJsonl(file: string): AsyncGenerator<Row> {
  for await (const { line, text } of readLines(file)) {
    if (text.trim() === '') continue;
    yield {
      file,
      line,
      text,
      value: objectOf(parse(text, file, line), file, line, text),
      exact: () => parseExact(text),
    };
  }
}

/** A JSON file: an array of rows, or an object with exactly one array of them (BIG-Bench's `examples`). */
async function* readJsonArray(file: string): AsyncGenerator<Row> {
  const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
  const rowsOf = (value: unknown): unknown[] => {
    const arrays = [value, ...Object.values(value ?? {})].filter(
      (part) => Array.isArray(part) && isRow(part[0]),
    );
    return (Array.isArray(value) ? value : arrays.length === 1 ? arrays[0] : undefined) as unknown[];
  };
  const rows = rowsOf(parse(text, file, undefined));
  if (rows === undefined) {
    throw new VfError('VF_DATA', `Expected an array of rows in ${basename(file)}`, { file });
  }
  let exactRows: unknown[] | undefined;
  for (const [i, value] of rows.entries()) {
    const exact = (): Exact => {
      exactRows ??= rowsOf(parseExact(text));
      return exactRows[i] as Exact;
    };
    yield { file, line: i + 1, text: '', value: objectOf(value, file, i + 1, ''), exact };
  }
}

function parse(text: string, file: string, line: number | undefined): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = (cause as Error).message;
    const position = /position (\d+)/.exec(message);
    const where = line === undefined ? basename(file) : `line ${line} of ${basename(file)}`;
    throw new VfError('VF_DATA', `${where} is not JSON: ${message}`, {
      file,
      line,
      column: position && line !== undefined ? Number(position[1]) + 1 : undefined,
      text: text.slice(0, 200),
      hint: 'a .jsonl file holds one JSON object a line',
      cause,
    });
  }
}

function isRow(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown, file: string, line: number, text: string): Record<string, unknown> {
  if (isRow(value)) return value;
  throw new VfError('VF_DATA', `row ${line} of ${basename(file)} is no JSON object`, {
    file,
    line,
    text: text.slice(0, 200),
    expected: 'an object such as {"question": "What is 3 + 4?", "answer": "7"}',
  });
}
