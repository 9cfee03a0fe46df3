/** The run store: makes or reopens a run's folder and writes its files. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { parse as parseYaml, stringify as stringifyYaml } from 'yaml';
import { VfError } from '../errors.js';
import { clearUnfinished } from './checkpoint.js';
import { writeAtomic } from './disk.js';
import {
  holdsRun,
  latestCheckpoint,
  newestRun,
  newRunName,
  RUN_FILES,
  RUNS_ROOT,
  readJson,
} from './folder.js';
import { type AppendFile, openAppend } from './jsonl.js';
import { dropReplaced, holdsReplaced, putBack, setRunAside } from './replaced.js';

export interface PlaceOptions {
  command: string;
  out: string | null;
  resume: boolean;
  force: boolean;
  /** Parent of runs without `out`; `runs` when left out. */
  root?: string;
}

/** The folder of the run to make or to continue, before anything is written. @throws when it is taken or not there. */
export function placeRun(options: PlaceOptions): string {
  const { command, out, resume, force } = options;
  const root = options.root ?? RUNS_ROOT;
  if (out === null) return resume ? newestRun(command, root) : path.join(root, newRunName(command));
  if (existsSync(out) && !statSync(out).isDirectory()) {
    throw new VfError('VF_RUN_FOLDER', `--out ${out} is a file`, { hint: 'name a folder: --out runs/NAME' });
  }
  if (holdsReplaced(out)) {
    refuseLocked(out);
    putBack(out);
  }
  const taken = holdsRun(out);
  if (resume && !taken) {
    throw new VfError('VF_NO_RUN', `${out} holds no run to resume`, {
      hint: '`vf runs list` shows the runs here',
    });
  }
  if (resume) {
    const before = readJson(path.join(out, RUN_FILES.manifest))?.command;
    if (before !== undefined && before !== command) {
      const hint = `continue it with: vf ${before} --resume --out ${out}`;
      throw new VfError('VF_NO_RUN', `${out} holds a run of vf ${before}, not of vf ${command}`, { hint });
    }
  } else if (taken && !force) {
    const hint = `continue it with --resume, take another folder, or delete that run with --force`;
    throw new VfError('VF_RUN_EXISTS', `${out} already holds a run`, { hint });
  }
  return out;
}

/** The settings stored with the run in `folder`, by flag name. @throws VF_CONFIG_FILE when they can't be read. */
export function readStoredConfig(folder: string): Record<string, unknown> {
  const file = path.join(folder, RUN_FILES.config);
  try {
    const values: unknown = parseYaml(readFileSync(file, 'utf8'));
    if (values !== null && typeof values === 'object') return values as Record<string, unknown>;
    throw new Error('it holds no settings');
  } catch (cause) {
    const message = `can't read the settings of the run: ${(cause as Error).message}`;
    throw new VfError('VF_CONFIG_FILE', message, { file, cause, hint: 'start again with --force' });
  }
}

export interface RunConfig {
  values: Readonly<Record<string, unknown>>;
  origins: Readonly<Record<string, string>>;
  /** Names that are about one call only and are not stored. */
  transient: ReadonlySet<string>;
}

export interface OpenOptions {
  folder: string;
  command: string;
  resume: boolean;
  force: boolean;
  config: RunConfig;
}

/** An open run. One process holds it at a time; `close` lets go. */
export interface RunStore {
  readonly folder: string;
  /** The folder's name: `run` in every event. */
  readonly name: string;
  /** Folder of the checkpoint to continue from; null for a new run, or one killed before its first checkpoint. */
  readonly resumeFrom: string | null;
  /** The state.json of that checkpoint. */
  readonly state: Readonly<Record<string, unknown>> | null;
  /** An append-only file of the run by name, cut back to the checkpoint's length on resume. */
  file(name: string): AppendFile;
  /** Byte lengths of all append-only files, after bringing them to the disk. */
  lengths(): Record<string, number>;
  /** Merges `fields` into manifest.json. */
  manifest(fields: Record<string, unknown>): void;
  /** The work has started: from now on the run stays, and one that it replaced is gone. */
  keep(): void;
  /** Lets go of the run. A new one that was never kept leaves nothing behind, and the one it replaced is back. */
  close(): void;
}

/** Files whose lines stay through a resume: verdicts are keyed by content, replies by question and sample. */
const NEVER_CUT: ReadonlySet<string> = new Set([RUN_FILES.verdicts, RUN_FILES.replies]);

/** Makes or reopens the run of `options.folder` (from placeRun). */
export function openRun(options: OpenOptions): RunStore {
  const { folder, command, resume, force, config } = options;
  if (force && holdsRun(folder)) refuseLocked(folder);
  if (force && holdsRun(folder)) setRunAside(folder);
  mkdirSync(folder, { recursive: true });
  let kept = resume;
  const unlock = lock(folder);
  const root = path.join(folder, RUN_FILES.checkpoints);
  mkdirSync(root, { recursive: true });
  clearUnfinished(folder);
  const latest = resume ? latestCheckpoint(folder) : null;
  const state = latest === null ? null : readJson(path.join(latest.folder, 'state.json'));
  const lengths = (state?.files ?? {}) as Record<string, number>;
  const files = new Map<string, AppendFile>();
  const file = (name: string): AppendFile => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const opened = openAppend(path.join(folder, name), NEVER_CUT.has(name) ? 'end' : (lengths[name] ?? 0));
    files.set(name, opened);
    return opened;
  };
  const store: RunStore = {
    folder,
    name: path.basename(path.resolve(folder)),
    resumeFrom: latest?.folder ?? null,
    state,
    file,
    lengths: () => syncedLengths(files),
    manifest: (fields) => {
      const target = path.join(folder, RUN_FILES.manifest);
      writeAtomic(target, JSON.stringify({ ...readJson(target), ...fields }, null, 2) + '\n');
    },
    keep: () => {
      kept = true;
      dropReplaced(folder);
    },
    close: () => {
      for (const opened of files.values()) opened.close();
      if (!kept) {
        putBack(folder);
        if (readdirSync(folder).length === 0) rmdirSync(folder);
      }
      unlock();
    },
  };
  // Every file the checkpoint knows is cut back now, whether or not this session writes it.
  if (resume) for (const name of Object.keys(lengths)) file(name);
  const origins = firstOrigins(folder, config.origins);
  writeAtomic(path.join(folder, RUN_FILES.config), configText(config, origins));
  const now = new Date().toISOString();
  store.manifest(resume ? { resumed: now, origins } : { v: 1, command, created: now, origins });
  return store;
}

/** A value that a resumed run took over keeps the origin it had at first. */
function firstOrigins(folder: string, origins: RunConfig['origins']): Record<string, string> {
  const before = (readJson(path.join(folder, RUN_FILES.manifest))?.origins ?? {}) as Record<string, string>;
  const entries = Object.entries(origins).map(([name, origin]) => [
    name,
    origin === 'run' ? (before[name] ?? origin) : origin,
  ]);
  return Object.fromEntries(entries);
}

function syncedLengths(files: ReadonlyMap<string, AppendFile>): Record<string, number> {
  const lengths: Record<string, number> = {};
  for (const [name, opened] of files) {
    opened.sync();
    lengths[name] = opened.length();
  }
  return lengths;
}

/** `name: value  # origin`, one line a setting. */
function configText(config: RunConfig, origins: Readonly<Record<string, string>>): string {
  const lines = Object.entries(config.values)
    .filter(([name]) => !config.transient.has(name))
    .map(([name, value]) => {
      // JSON is YAML; only a plain string reads better bare.
      const plain = typeof value === 'string' && !/[\r\n]/.test(value);
      const text = plain ? stringifyYaml(value, { lineWidth: 0 }).trimEnd() : JSON.stringify(value);
      return `${name}: ${text}  # ${origins[name] ?? 'default'}`;
    });
  return `# Settings of this run, and where each came from.\n${lines.join('\n')}\n`;
}

/** @throws VF_RUN_BUSY when a living process of this machine holds the run. */
function refuseLocked(folder: string): void {
  const holder = readJson(path.join(folder, RUN_FILES.lock));
  if (holder === null || holder.host !== hostname() || typeof holder.pid !== 'number') return;
  if (holder.pid === process.pid || !isAlive(holder.pid)) return;
  const message = `process ${holder.pid} is working on the run in ${folder}`;
  throw new VfError('VF_RUN_BUSY', message, {
    hint: 'wait for it or stop it, or take another folder: --out',
  });
}

function lock(folder: string): () => void {
  refuseLocked(folder);
  const file = path.join(folder, RUN_FILES.lock);
  writeAtomic(file, JSON.stringify({ pid: process.pid, host: hostname() }) + '\n');
  return () => rmSync(file, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
