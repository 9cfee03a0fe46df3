/** Disk: durable small writes, room for what is coming, and errors that say how much was needed and free. */

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { VfError } from '../errors.js';

/** Bytes free to this user on the file system of `place` (of its nearest existing parent). */
export function freeBytes(place: string): number {
  let folder = path.resolve(place);
  while (!existsSync(folder)) folder = path.dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** @throws VF_DISK_FULL (exit code 3) when fewer than `needed` bytes are free; `what` names what needs them. */
export function requireFree(place: string, needed: number, what: string): void {
  const free = freeBytes(place);
  if (free >= needed) return;
  const message = `${what} needs ${megabytes(needed)} at ${place}, where ${megabytes(free)} are free`;
  throw new VfError('VF_DISK_FULL', message, { exitCode: 3, hint: ROOM });
}

const ROOM = 'free some room, keep fewer checkpoints (--keep 1), or write elsewhere: --out FOLDER';

/** A failed write as a VfError: out of room says so with the bytes; anything else keeps the system's words. */
export function diskError(file: string, cause: unknown, needed?: number): VfError {
  if (cause instanceof VfError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const need = needed === undefined ? '' : `: it needs ${megabytes(needed)}`;
    const text = `no room left to write ${file}${need}, ${megabytes(freeBytes(file))} free`;
    return new VfError('VF_DISK_FULL', text, { exitCode: 3, hint: ROOM, cause });
  }
  return new VfError('VF_WRITE', `can't write ${file}: ${message}`, { exitCode: 1, cause });
}

/** `12.3 MB` (10^6 bytes), with thousands separated. */
export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  const digits = value >= 100 ? 0 : value >= 1 ? 1 : 3;
  return (
    value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits }) + ' MB'
  );
}

/** Replaces `file` by `text` in one step: a reader sees the old or the new content, also after a power cut. */
export function writeAtomic(file: string, text: string): void {
  const aside = `${file}.tmp`;
  try {
    const fd = openSync(aside, 'w');
    try {
      writeSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(aside, file);
    syncFolder(path.dirname(file));
  } catch (cause) {
    rmSync(aside, { force: true });
    throw diskError(file, cause);
  }
}

/** Makes the names in `folder` durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
