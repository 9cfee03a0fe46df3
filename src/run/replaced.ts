/** The run that `--force` replaces: set aside until the new one has started, so that a mistyped path loses nothing. */

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { RUN_FILES } from './folder.js';

const ASIDE = '.replaced';

/** Whether a run waits there: the one in `folder` never started. */
export function holdsReplaced(folder: string): boolean {
  return existsSync(path.join(folder, ASIDE));
}

/** Moves what a run wrote in `folder`, and nothing else, out of the way. */
export function setRunAside(folder: string): void {
  dropReplaced(folder);
  mkdirSync(path.join(folder, ASIDE), { recursive: true });
  moveRun(folder, path.join(folder, ASIDE));
}

/** Deletes the run set aside, if there is one. */
export function dropReplaced(folder: string): void {
  rmSync(path.join(folder, ASIDE), { recursive: true, force: true });
}

/** Deletes what a run wrote in `folder` and puts back the run set aside, if there is one. */
export function putBack(folder: string): void {
  for (const name of Object.values(RUN_FILES))
    rmSync(path.join(folder, name), { recursive: true, force: true });
  moveRun(path.join(folder, ASIDE), folder);
  dropReplaced(folder);
}

function moveRun(from: string, to: string): void {
  for (const name of Object.values(RUN_FILES))
    if (existsSync(path.join(from, name))) renameSync(path.join(from, name), path.join(to, name));
}
