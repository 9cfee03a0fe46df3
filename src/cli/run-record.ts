/** Reads a run's folder back: settings, metrics and how it ended, for `vf runs` and the report. */

import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { nearest, VfError } from '../errors.js';
import type { Metrics, RunEvent, SampleEvent, StartEvent } from '../run/events.js';
import { holdsRun, latestCheckpoint, listRuns, RUN_FILES, RUNS_ROOT, readJson } from '../run/folder.js';
import { readStoredConfig } from '../run/store.js';

export interface MetricRow {
  event: 'step' | 'eval';
  step: number;
  metrics: Metrics;
}

export interface RunRecord {
  folder: string;
  name: string;
  command: string;
  created: string;
  status: 'finished' | 'interrupted' | 'failed' | 'running' | 'killed';
  settings: Record<string, unknown>;
  origins: Record<string, string>;
  start: StartEvent | null;
  steps: MetricRow[];
  evals: MetricRow[];
  checkpoint: { folder: string; step: number } | null;
  summary: Record<string, unknown>;
}

/** The run that `given` names: a folder, a name under runs/, or (null) the newest one. */
export function findRun(given: string | null): string {
  const runs = listRuns();
  if (given === null) {
    const newest = runs.at(-1);
    if (newest !== undefined) return newest.folder;
    throw new VfError('VF_NO_RUN', `there is no run under ${RUNS_ROOT}/`, { hint: 'start one: vf train' });
  }
  for (const folder of [given, path.join(RUNS_ROOT, given)]) if (holdsRun(folder)) return folder;
  const near = nearest(
    path.basename(given),
    runs.map(({ name }) => name),
  );
  const hint = near === undefined ? '`vf runs list` shows the runs here' : `did you mean ${near}?`;
  throw new VfError('VF_NO_RUN', `${given} holds no run`, { hint });
}

/** All there is to know of the run in `folder`. Half-written last lines are left out. */
export function readRun(folder: string): RunRecord {
  const manifest = readJson(path.join(folder, RUN_FILES.manifest)) ?? {};
  const rows = readJsonl(path.join(folder, RUN_FILES.metrics)) as MetricRow[];
  const events = path.join(folder, RUN_FILES.events);
  const start = (firstEvent(events, 'start') as StartEvent | undefined) ?? null;
  const end = lastEvent(events);
  return {
    folder,
    name: path.basename(path.resolve(folder)),
    command: String(manifest.command ?? ''),
    created: String(manifest.created ?? ''),
    status: statusOf(folder, end),
    settings: readStoredConfig(folder),
    origins: (manifest.origins ?? {}) as Record<string, string>,
    start,
    // Step 0 is the probe's look before any update.
    steps: rows.filter((row) => row.event === 'step' && row.step > 0),
    evals: rows.filter((row) => row.event === 'eval'),
    checkpoint: latestCheckpoint(folder),
    summary: end?.event === 'end' ? end.summary : {},
  };
}

/** The newest `count` groups of traces, oldest first. */
export function lastSamples(
  folder: string,
  count: number,
): Omit<SampleEvent, 'v' | 'event' | 'run' | 'time'>[] {
  const lines = tail(path.join(folder, RUN_FILES.samples), 1 << 22);
  return lines.slice(-count) as Omit<SampleEvent, 'v' | 'event' | 'run' | 'time'>[];
}

function statusOf(folder: string, last: RunEvent | undefined): RunRecord['status'] {
  if (last?.event === 'end') {
    if (last.exitCode === 0) return 'finished';
    return last.exitCode >= 130 ? 'interrupted' : 'failed';
  }
  const pid = readJson(path.join(folder, RUN_FILES.lock))?.pid;
  if (typeof pid !== 'number') return 'killed';
  try {
    process.kill(pid, 0);
    return 'running';
  } catch {
    return 'killed';
  }
}

function readJsonl(file: string): unknown[] {
  return existsSync(file) ? parseLines(readFileSync(file, 'utf8').split('\n')) : [];
}

function parseLines(lines: readonly string[]): unknown[] {
  return lines.flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/** The whole lines in the last `bytes` of a file. */
function tail(file: string, bytes: number): unknown[] {
  if (!existsSync(file)) return [];
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(0, size - bytes);
    const buffer = Buffer.alloc(size - from);
    readSync(fd, buffer, 0, buffer.length, from);
    const lines = buffer.toString('utf8').split('\n');
    return parseLines(from > 0 ? lines.slice(1) : lines);
  } finally {
    closeSync(fd);
  }
}

function lastEvent(file: string): RunEvent | undefined {
  return tail(file, 1 << 18).at(-1) as RunEvent | undefined;
}

function firstEvent(file: string, kind: RunEvent['event']): RunEvent | undefined {
  if (!existsSync(file)) return undefined;
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(1 << 18);
    const read = readSync(fd, buffer, 0, buffer.length, 0);
    const events = parseLines(buffer.subarray(0, read).toString('utf8').split('\n')) as RunEvent[];
    return events.find(({ event }) => event === kind);
  } finally {
    closeSync(fd);
  }
}
