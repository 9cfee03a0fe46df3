/** Runs for a table: made once below a folder, continued when cut short, read when finished. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { resolveConfig, transientNames } from '../config/resolve.js';
import type { Metrics, RunEvent } from '../run/events.js';
import { holdsRun } from '../run/folder.js';
import { emitter, runLog } from '../run/log.js';
import { openRun, readStoredConfig } from '../run/store.js';
import type { Interrupt } from './interrupt.js';
import type { JobAction, JobName } from './job.js';
import { writeErr } from './output.js';
import { readRun } from './run-record.js';

/** Runs `command` with these flags into `folder`, unless a finished run is there. A dot on stderr every ten steps. */
export async function finishRun<C extends JobName>(
  command: C,
  flags: Readonly<Record<string, string>>,
  folder: string,
  interrupt: Interrupt,
  action: JobAction<C>,
): Promise<void> {
  const resume = holdsRun(folder) && existsSync(path.join(folder, 'checkpoints', 'latest'));
  if (resume && readRun(folder).status === 'finished') return;
  const stored = resume ? readStoredConfig(folder) : undefined;
  const resolved = resolveConfig(command, { flags: { ...flags, out: folder }, env: {}, stored });
  const config = { values: resolved.values, origins: resolved.origins, transient: transientNames(command) };
  const store = openRun({ folder, command, resume, force: !resume, config });
  const dots = (event: RunEvent) => {
    if (event.event === 'step' && event.step % 10 === 0) writeErr('.');
  };
  const emit = emitter(store.name, [runLog(store), dots]);
  try {
    const began = performance.now();
    const summary = await action({ ...resolved, store, emit, interrupt });
    const seconds = (performance.now() - began) / 1000;
    emit({ event: 'end', exitCode: interrupt.exitCode ?? 0, summary: { seconds, ...summary } });
  } finally {
    store.close();
  }
}

/** Metrics of a run's first and last evaluation. */
export function endPoints(folder: string): { before: Metrics; after: Metrics; seconds: number } {
  const { steps, evals } = readRun(folder);
  const seconds = steps.reduce((sum, { metrics }) => sum + (metrics['time/step'] ?? 0), 0);
  return { before: evals[0]?.metrics ?? {}, after: evals.at(-1)?.metrics ?? {}, seconds };
}
