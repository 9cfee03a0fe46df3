/** Finished program runs by hash of program and limits, kept in `verdicts.jsonl` so that a resume repeats none. */

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import type { FinishedRun } from './program.js';
import type { SandboxReport } from './sandbox.js';

export interface RunCache {
  get(hash: string): FinishedRun | undefined;
  /** Remember a run, and append it to the file. */
  put(hash: string, run: FinishedRun): void;
  readonly size: number;
}

/** Hash of a program and of all that decides its outcome: the sandbox, its interpreter and its limits. */
export function programHash(
  program: string,
  report: Pick<SandboxReport, 'kind' | 'interpreter' | 'limits'>,
): string {
  const { kind, interpreter, limits } = report;
  const setting = JSON.stringify([kind, interpreter, Object.entries(limits).sort()]);
  return createHash('sha256').update(`${setting}\n${program}`).digest('hex');
}

/**
 * A cache that reads and appends to a file, or lives in memory alone when `file` is null. A run that met the wall limit
 * is kept like any other, so that a resumed run has the verdicts of an uninterrupted one. A last line that was cut by
 * a crash is dropped, also from the file; other lines that are no runs are skipped.
 */
export function openRunCache(file: string | null): RunCache {
  const runs = new Map<string, FinishedRun>();
  if (file !== null && existsSync(file)) {
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
    for (const line of whole.split('\n')) {
      const row = readRow(line);
      if (row !== null) runs.set(row.hash, row.run);
    }
  }
  return {
    get: (hash) => runs.get(hash),
    put(hash, run) {
      const { outcome, line, detail, literal } = run;
      const kept = { outcome, line, detail, literal };
      runs.set(hash, kept);
      if (file !== null) appendFileSync(file, `${JSON.stringify({ v: 1, hash, ...kept })}\n`);
    },
    get size() {
      return runs.size;
    },
  };
}

function readRow(line: string): { hash: string; run: FinishedRun } | null {
  try {
    const row = JSON.parse(line) as { hash?: unknown } & FinishedRun;
    if (typeof row.hash !== 'string' || typeof row.outcome !== 'string') return null;
    const { outcome, line: last, detail, literal } = row;
    return {
      hash: row.hash,
      run: { outcome, line: last ?? null, detail: detail ?? '', literal: literal ?? null },
    };
  } catch {
    return null;
  }
}
