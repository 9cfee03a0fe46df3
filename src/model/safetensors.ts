/**
 * safetensors headers: an unsigned 64-bit length, that many bytes of JSON, then the tensors' bytes, back to back.
 * Reading checks every byte range; the bytes themselves are the engine's business.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { VfError } from '../errors.js';
import { isObject, type JsonObject, parseJsonObject } from './json.js';

/** Bytes of one number of each type that a file may hold (the engine takes F32, F16 and BF16 only). */
const DTYPE_BYTES: Record<string, number> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
};

/** The format's own cap on header bytes. */
const MAX_HEADER = 100_000_000;

export interface HeaderTensor {
  name: string;
  /** As the file spells it: F32, BF16, … */
  dtype: string;
  shape: number[];
  /** Bytes from the start of the file. */
  offset: number;
  bytes: number;
}

export interface SafetensorsHeader {
  tensors: HeaderTensor[];
  metadata: Record<string, string>;
}

/** Reads and checks a file's header. A file that is cut, too long, overlapping or with gaps is a VfError naming it. */
export async function readSafetensorsHeader(file: string): Promise<SafetensorsHeader> {
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (cause) {
    throw new VfError('VF_MODEL_FILE', `Expected to read ${file} but received ${(cause as Error).message}`, {
      file,
      cause,
    });
  }
  try {
    const size = (await handle.stat()).size;
    const prefix = await readExactly(handle, 0, Math.min(8, size));
    if (size < 8) throw cut(file, 8, size);
    const length = prefix.readBigUInt64LE();
    if (length > BigInt(MAX_HEADER) || length < 2n) {
      throw damaged(file, `its header length reads ${length}, so this is no safetensors file`);
    }
    const headerBytes = Number(length);
    if (8 + headerBytes > size) throw cut(file, 8 + headerBytes, size);
    const json = await readExactly(handle, 8, headerBytes);
    if (json[0] !== 0x7b) throw damaged(file, 'its header does not begin with {');
    return checkHeader(parseJsonObject(json, file), 8 + headerBytes, size, file);
  } finally {
    await handle.close();
  }
}

function checkHeader(header: JsonObject, dataStart: number, size: number, file: string): SafetensorsHeader {
  const metadata: Record<string, string> = {};
  const tensors: HeaderTensor[] = [];
  for (const [name, value] of Object.entries(header)) {
    if (name === '__metadata__') {
      for (const [key, text] of Object.entries(isObject(value) ? value : {})) metadata[key] = String(text);
    } else {
      tensors.push(headerTensor(name, value, dataStart, file));
    }
  }
  const inOrder = [...tensors].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes);
  let end = dataStart;
  let last = 'the header';
  for (const { name, offset, bytes } of inOrder) {
    if (offset < end) throw damaged(file, `tensor ${name} overlaps ${last}`);
    if (offset > end)
      throw damaged(file, `${offset - end} bytes between ${last} and ${name} belong to no tensor`);
    end = offset + bytes;
    last = name;
  }
  if (size < end) throw cut(file, end, size);
  if (size > end) {
    throw damaged(file, `the file is not fully covered: ${size - end} bytes follow the last tensor`);
  }
  return { tensors, metadata };
}

function headerTensor(name: string, value: unknown, dataStart: number, file: string): HeaderTensor {
  const { dtype, shape, data_offsets: range } = isObject(value) ? value : {};
  const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
  if (typeof dtype !== 'string' || !Array.isArray(shape) || !shape.every(isCount) || !Array.isArray(range)) {
    throw damaged(file, `tensor ${name} has no dtype, shape and data_offsets`);
  }
  const width = DTYPE_BYTES[dtype];
  if (width === undefined) throw damaged(file, `tensor ${name} has unknown dtype ${dtype}`);
  const [start, end] = range as unknown[];
  if (!isCount(start) || !isCount(end) || range.length !== 2) {
    throw damaged(file, `tensor ${name} has data_offsets ${JSON.stringify(range)}`);
  }
  const expected = shape.reduce((a: number, b: number) => a * b, width);
  if (end - start !== expected) {
    throw damaged(
      file,
      `tensor ${name} is ${dtype} [${shape}] = ${expected} bytes but its range has ${end - start}`,
    );
  }
  return { name, dtype, shape, offset: dataStart + start, bytes: expected };
}

/**
 * The JSON header (without its 8-byte length) for tensors that follow back to back in this order. Padded with spaces to a
 * multiple of 8 bytes; metadata holds {format: pt}, which transformers demands.
 */
export function composeSafetensorsHeader(
  tensors: readonly { name: string; dtype: 'f32' | 'bf16'; shape: number[] }[],
  metadata: Record<string, string> = {},
): Uint8Array {
  const header: JsonObject = { __metadata__: { format: 'pt', ...metadata } };
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    const end = offset + shape.reduce((a, b) => a * b, dtype === 'f32' ? 4 : 2);
    header[name] = { dtype: dtype.toUpperCase(), shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(padded).fill(0x20);
  bytes.set(json);
  return bytes;
}

/** The 8 bytes that precede a header of this many bytes. */
export function headerLength(bytes: number): Uint8Array {
  const prefix = new Uint8Array(8);
  new DataView(prefix.buffer).setBigUint64(0, BigInt(bytes), true);
  return prefix;
}

async function readExactly(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

function cut(file: string, expected: number, actual: number): VfError {
  return new VfError(
    'VF_SAFETENSORS',
    `file ${basename(file)}: expected ${expected} bytes, found ${actual} (interrupted copy?)`,
    { file, hint: 'copy or download the file again' },
  );
}

function damaged(file: string, what: string): VfError {
  return new VfError('VF_SAFETENSORS', `file ${basename(file)}: ${what}`, {
    file,
    hint: 'copy or download the file again, or save the model anew from its source',
  });
}
