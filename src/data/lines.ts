/** Lines of a text file as a stream, always UTF-8: a byte order mark is dropped, invalid bytes are an error with their line. */

import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { VfError } from '../errors.js';

export interface Line {
  /** 1-based. */
  line: number;
  /** Without its line break (LF or CR LF). */
  text: string;
}

/** Reads a file line by line in constant memory. A missing file is a VfError (exit code 2). */
export async function* readLines(file: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let line = 0;
  for await (const bytes of splitLines(file)) {
    line++;
    const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
    const start = line === 1 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    try {
      yield { line, text: decoder.decode(bytes.subarray(start, end)) };
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause;
      throw new VfError('VF_DATA', `line ${line} of ${basename(file)} is not valid UTF-8`, {
        file,
        line,
        hint: `save the file as UTF-8 (for example: iconv -f WINDOWS-1252 -t UTF-8 ${basename(file)})`,
        cause,
      });
    }
  }
}

async function* splitLines(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
      const bytes = chunk as Buffer;
      let start = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, start)) {
        yield rest.length === 0
          ? bytes.subarray(start, at)
          : Buffer.concat([...rest, bytes.subarray(start, at)]);
        rest = [];
        start = at + 1;
      }
      if (start < bytes.length) rest.push(bytes.subarray(start));
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === undefined) throw cause;
    throw unreadable(file, cause as Error);
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/** The error for a data file that can't be opened. */
export function unreadable(file: string, cause: Error): VfError {
  return new VfError('VF_DATA', `Expected to read the data file ${file} but received ${cause.message}`, {
    file,
    hint: 'name a .jsonl, .json, .csv, .tsv or .parquet file, or a folder of them',
    cause,
  });
}
