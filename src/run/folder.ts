/** Run folders: where a run lies, what marks a folder as a run, and which folder a `--model` path means. */

import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { nearest, VfError } from '../errors.js';

/** Files of a run folder, by what they hold. */
export const RUN_FILES = {
  config: 'config.yaml',
  manifest: 'manifest.json',
  events: 'events.jsonl',
  metrics: 'metrics.jsonl',
  samples: 'samples.jsonl',
  votes: 'votes.jsonl',
  replies: 'replies.jsonl',
  scores: 'report.json',
  verdicts: 'verdicts.jsonl',
  tensorboard: 'events.out.tfevents.vf',
  report: 'report.html',
  checkpoints: 'checkpoints',
  lock: 'run.lock',
} as const;

/** Folder under which runs without `--out` are made. */
export const RUNS_ROOT = 'runs';

/** `<command>-<MMDD-HHMM>-<4 hex>`, in local time. */
export function newRunName(command: string, now: Date = new Date()): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const date = two(now.getMonth() + 1) + two(now.getDate());
  const time = two(now.getHours()) + two(now.getMinutes());
  return `${command}-${date}-${time}-${randomBytes(2).toString('hex')}`;
}

/** Whether `folder` holds a run, complete or not. */
export function holdsRun(folder: string): boolean {
  return existsSync(path.join(folder, RUN_FILES.config)) || existsSync(path.join(folder, RUN_FILES.manifest));
}

export interface RunSummary {
  folder: string;
  name: string;
  command: string;
  /** ISO 8601. */
  created: string;
}

/** The runs directly under `root`, oldest first. Folders whose manifest can't be read are left out. */
export function listRuns(root: string = RUNS_ROOT): RunSummary[] {
  if (!existsSync(root)) return [];
  const runs: RunSummary[] = [];
  for (const name of readdirSync(root)) {
    const folder = path.join(root, name);
    const manifest = readJson(path.join(folder, RUN_FILES.manifest));
    if (manifest === null || typeof manifest.command !== 'string') continue;
    runs.push({ folder, name, command: manifest.command, created: String(manifest.created ?? '') });
  }
  return runs.sort((a, b) => (a.created < b.created ? -1 : a.created > b.created ? 1 : 0));
}

/** The newest run of `command` under `root`. @throws VF_NO_RUN when there is none. */
export function newestRun(command: string, root: string = RUNS_ROOT): string {
  const run = listRuns(root).findLast((candidate) => candidate.command === command);
  if (run !== undefined) return run.folder;
  const message = `there is no ${command} run under ${root}/ to resume`;
  throw new VfError('VF_NO_RUN', message, {
    hint: `start one with \`vf ${command}\`, or name it: --out FOLDER`,
  });
}

export interface ModelPlace {
  /** The concrete Hugging Face folder. */
  folder: string;
  kind: 'run' | 'checkpoint' | 'folder';
  /** The run's folder, when the path is a run or a checkpoint of one. */
  run: string | null;
  step: number | null;
}

/** What a `--model` path means: a run (its latest checkpoint), a checkpoint, or a Hugging Face folder. */
export function resolveModelPath(given: string): ModelPlace {
  if (!existsSync(given)) throw noModel(given);
  if (!statSync(given).isDirectory()) {
    const hint = `give the folder that holds it: ${path.dirname(given)}`;
    throw new VfError('VF_NO_MODEL', `${given} is a file; a model is a folder`, { hint });
  }
  if (existsSync(path.join(given, 'config.json'))) {
    const state = readJson(path.join(given, 'state.json'));
    const inRun = state !== null && path.basename(path.dirname(given)) === RUN_FILES.checkpoints;
    return {
      folder: given,
      kind: state === null ? 'folder' : 'checkpoint',
      run: inRun ? path.dirname(path.dirname(given)) : null,
      step: typeof state?.step === 'number' ? state.step : null,
    };
  }
  if (holdsRun(given)) {
    const latest = latestCheckpoint(given);
    if (latest !== null) return { folder: latest.folder, kind: 'run', run: given, step: latest.step };
    const hint = 'let the run reach a checkpoint (--save-every), or name another model';
    throw new VfError('VF_NO_CHECKPOINT', `${given} is a run without a checkpoint`, { hint });
  }
  const message = `${given} is no model: it holds neither config.json nor a run`;
  const expected = 'a run, a checkpoint, or a folder with config.json, tokenizer.json and *.safetensors';
  throw new VfError('VF_NO_MODEL', message, { expected });
}

function noModel(given: string): VfError {
  const parent = path.dirname(given);
  const siblings = existsSync(parent) && statSync(parent).isDirectory() ? readdirSync(parent) : [];
  const near = nearest(path.basename(given), siblings);
  const expected = 'a run, a checkpoint or a Hugging Face folder';
  const hint =
    near === undefined ? '`vf runs list` shows the runs here' : `did you mean ${path.join(parent, near)}?`;
  return new VfError('VF_NO_MODEL', `there is no ${given}`, { expected, hint });
}

export interface CheckpointPlace {
  folder: string;
  step: number;
}

/** The checkpoint that `checkpoints/latest` names, or null before the first one. */
export function latestCheckpoint(run: string): CheckpointPlace | null {
  const root = path.join(run, RUN_FILES.checkpoints);
  const pointer = path.join(root, 'latest');
  if (!existsSync(pointer)) return null;
  const name = readFileSync(pointer, 'utf8').trim();
  const folder = path.join(root, name);
  const step = stepOf(name);
  if (step !== null && existsSync(path.join(folder, 'state.json'))) return { folder, step };
  const message = `${pointer} names ${JSON.stringify(name)}, which is no complete checkpoint`;
  throw new VfError('VF_NO_CHECKPOINT', message, {
    hint: `write the name of one that is there into it (ls ${root})`,
  });
}

/** The step of a checkpoint's folder name `step-N`; null for anything else. */
export function stepOf(name: string): number | null {
  const match = /^step-(\d+)$/.exec(name);
  return match === null ? null : Number(match[1]);
}

/** A JSON object file, or null where it is absent or no object. */
export function readJson(file: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
