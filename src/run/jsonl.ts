/** Append-only JSONL files whose byte length is known, so that a checkpoint can record it and a resume cut back to it. */

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { diskError } from './disk.js';

/** One open append-only file. Writes are synchronous: a line is in the kernel when `append` returns. */
export interface AppendFile {
  readonly path: string;
  append(line: unknown): void;
  appendBytes(bytes: Uint8Array): void;
  /** Bytes written so far. */
  length(): number;
  /** To the disk. */
  sync(): void;
  close(): void;
}

/**
 * Opens `path` for appending; an existing file is cut to `length` bytes first (to nothing when left out).
 * @throws VF_RESUME_FILES when the file is shorter than `length`.
 */
export function openAppend(path: string, length: number | 'end' = 0): AppendFile {
  const fd = openSync(path, 'a');
  let size = fstatSync(fd).size;
  const keep = length === 'end' ? size : Math.min(length, size);
  if (keep < size) ftruncateSync(fd, keep);
  size = keep;
  let open = true;
  const appendBytes = (bytes: Uint8Array) => {
    try {
      let done = 0;
      while (done < bytes.length) done += writeSync(fd, bytes, done);
    } catch (cause) {
      // A half line would spoil the file for every later reader.
      ftruncateSync(fd, size);
      throw diskError(path, cause);
    }
    size += bytes.length;
  };
  return {
    path,
    append: (line) => appendBytes(Buffer.from(JSON.stringify(line) + '\n')),
    appendBytes,
    length: () => size,
    sync: () => fsyncSync(fd),
    close: () => {
      if (open) closeSync(fd);
      open = false;
    },
  };
}
