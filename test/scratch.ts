/** Temporary folders for tests: gone when the test's process ends, whatever became of the test. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const made: string[] = [];

/** A new folder `vf-<name>-…` in the system's temporary folder. */
export function scratch(name: string): string {
  if (made.length === 0) {
    process.once('exit', () => {
      for (const folder of made) rmSync(folder, { recursive: true, force: true });
    });
  }
  const folder = mkdtempSync(path.join(tmpdir(), `vf-${name}-`));
  made.push(folder);
  return folder;
}
