/** Parquet rows, with int64 and DECIMAL exact; loaded only when a parquet file is read. */

import { basename } from 'node:path';
import { parquetMetadataAsync, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { asyncBufferFromFile } from 'hyparquet/src/node.js';
import { compressors } from 'hyparquet-compressors';
import { VfError } from '../errors.js';
import { unreadable } from './lines.js';
import type { PickColumns, Row } from './rows.js';

/** Rows read at a time. */
const CHUNK = 4096;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Rows of a parquet file; only the picked top-level columns are read. */
export async function* readParquet(file: string, pick: PickColumns): AsyncGenerator<Row> {
  const buffer = await asyncBufferFromFile(file).catch((cause: Error) => {
    throw unreadable(file, cause);
  });
  const fail = (cause: unknown): never => {
    const message = (cause as Error).message;
    throw new VfError('VF_DATA', `Expected a parquet file in ${basename(file)} but received: ${message}`, {
      file,
      cause,
    });
  };
  const metadata = await parquetMetadataAsync(buffer).catch(fail);
  const decimals = takeDecimals(metadata.schema);
  const names = topLevel(metadata.schema);
  const columns = pick(names).filter((name) => names.includes(name));
  const total = Number(metadata.num_rows);
  for (let rowStart = 0; rowStart < total; rowStart += CHUNK) {
    const rowEnd = Math.min(total, rowStart + CHUNK);
    const parsers = { stringFromBytes: (bytes: Uint8Array | undefined) => bytes && utf8.decode(bytes) };
    const rows = await parquetReadObjects({
      ...{ file: buffer, metadata, columns, rowStart, rowEnd, compressors, parsers, utf8: false },
    }).catch(fail);
    for (const [i, row] of rows.entries()) {
      const value = exactValue(row, '', decimals) as Record<string, unknown>;
      // A column that is null in this row must still count as a column.
      for (const name of names) value[name] ??= null;
      yield { file, line: rowStart + i + 1, text: '', value };
    }
  }
}

/**
 * Takes the DECIMAL mark off the schema, so that the reader returns whole numbers or bytes instead of rounded doubles.
 * Returns the scale of each such column by its path without list levels.
 */
function takeDecimals(schema: SchemaElement[]): Map<string, number> {
  const scales = new Map<string, number>();
  const stack: { name: string; left: number }[] = [];
  for (const element of schema.slice(1)) {
    while (stack.length > 0 && stack.at(-1)?.left === 0) stack.pop();
    const parent = stack.at(-1);
    if (parent) parent.left--;
    const path = [...stack.map(({ name }) => name), element.name]
      .filter((name) => !LIST_LEVEL.test(name))
      .join('.');
    if (element.converted_type === 'DECIMAL' || element.logical_type?.type === 'DECIMAL') {
      scales.set(path, element.scale ?? 0);
      delete element.converted_type;
      delete element.logical_type;
    }
    if (element.num_children) stack.push({ name: element.name, left: element.num_children });
  }
  return scales;
}

const LIST_LEVEL = /^(list|element|item|array|bag|array_element)$/;

function topLevel(schema: SchemaElement[]): string[] {
  const names: string[] = [];
  let skip = 0;
  for (const element of schema.slice(1)) {
    if (skip === 0) names.push(element.name);
    else skip--;
    skip += element.num_children ?? 0;
  }
  return names;
}

function exactValue(value: unknown, path: string, decimals: Map<string, number>): unknown {
  const scale = decimals.get(path);
  if (scale !== undefined && value !== null && value !== undefined && !Array.isArray(value)) {
    return decimalText(
      value instanceof Uint8Array ? bigEndian(value) : BigInt(value as number | bigint),
      scale,
    );
  }
  if (value instanceof Uint8Array) return utf8.decode(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((member) => exactValue(member, path, decimals));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, member]) => [
      key,
      exactValue(member, path === '' ? key : `${path}.${key}`, decimals),
    ]);
    return Object.fromEntries(entries);
  }
  return value;
}

function bigEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(bytes.length * 8, value);
}

function decimalText(unscaled: bigint, scale: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  return scale === 0 ? sign + whole : `${sign}${whole}.${digits.slice(digits.length - scale)}`;
}
