/** JSON files of a model folder, read with errors that name the file and the place. */

import { readFile } from 'node:fs/promises';
import { VfError } from '../errors.js';

export type JsonObject = Record<string, unknown>;

/** Whether a JSON value is an object (no array, no null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a JSON file; undefined when the file does not exist. Anything else wrong is a VfError (exit code 2). */
export async function readJsonObject(file: string): Promise<JsonObject | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new VfError('VF_MODEL_FILE', `Expected to read ${file} but received ${(cause as Error).message}`, {
      file,
      cause,
    });
  }
  return parseJsonObject(bytes, file);
}

/** Parses UTF-8 JSON bytes (a byte order mark is skipped) whose top level must be an object. */
export function parseJsonObject(bytes: Uint8Array, file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new VfError('VF_MODEL_FILE', `Expected JSON in ${file} but received ${(cause as Error).message}`, {
      file,
      hint: 'copy the file again; it may be an error page or cut short',
      cause,
    });
  }
  if (!isObject(value)) {
    const kind = Array.isArray(value) ? 'an array' : String(value);
    throw new VfError('VF_MODEL_FILE', `Expected a JSON object in ${file} but received ${kind}`, { file });
  }
  return value;
}
