/** Checkpoints: written aside, synced, verified, renamed; then `latest` moves; then old ones go. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { VfError } from '../errors.js';
import { diskError, syncFolder, writeAtomic } from './disk.js';
import { latestCheckpoint, RUN_FILES, stepOf } from './folder.js';

const ASIDE = '.tmp-';

export interface SaveOptions {
  /** The run's folder. */
  run: string;
  step: number;
  /** Byte lengths of the run's append-only files (RunStore.lengths), called once everything else is written. */
  lengths: () => Record<string, number>;
  /** Whatever else a resume needs: cursor, counters, settings. Must be plain JSON. */
  state: Readonly<Record<string, unknown>>;
  /** Fills the folder with the model and the trainer's tensors. */
  write: (folder: string) => Promise<void>;
  /** Newest checkpoints to keep, this one included. */
  keep: number;
  /** Folders that must stay, such as the reference model's. */
  protect?: readonly string[];
  /** Bytes the checkpoint will take, for the message when the disk is full. */
  bytes?: number;
}

/**
 * Saves one checkpoint and returns its folder. Killed at any moment, it leaves the checkpoint before it whole and named by
 * `latest`. A disk that fills leaves that too, and nothing of the new one.
 */
export async function saveCheckpoint(options: SaveOptions): Promise<string> {
  const { run, step, state, write, lengths } = options;
  const root = path.join(run, RUN_FILES.checkpoints);
  const final = path.join(root, `step-${step}`);
  if (latestCheckpoint(run)?.step === step) {
    // Same step, same bits: only the lengths of the files can have grown.
    writeState(final, { ...state, v: 1, step, files: lengths() });
    return final;
  }
  const aside = path.join(root, `${ASIDE}step-${step}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  try {
    await write(aside);
    for (const file of filesOf(aside)) await syncAndVerify(file);
    writeState(aside, { ...state, v: 1, step, files: lengths() });
    syncFolder(aside);
    // A folder of that name is a leftover that `latest` never named.
    rmSync(final, { recursive: true, force: true });
    renameSync(aside, final);
    syncFolder(root);
  } catch (cause) {
    rmSync(aside, { recursive: true, force: true });
    throw diskError(final, cause, options.bytes);
  }
  writeAtomic(path.join(root, 'latest'), `step-${step}\n`);
  prune(root, step, options);
  return final;
}

function writeState(folder: string, state: Record<string, unknown>): void {
  writeAtomic(path.join(folder, 'state.json'), JSON.stringify(state, null, 2) + '\n');
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

async function syncAndVerify(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (file.endsWith('.safetensors')) await verifySafetensors(file);
  else if (statSync(file).size === 0) throw incomplete(file, 'it is empty');
}

/** Reads a safetensors file's header and checks that the tensors cover exactly the bytes that are there. */
export async function verifySafetensors(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const prefix = Buffer.alloc(8);
    if (size < 8) throw incomplete(file, `it has ${size} bytes`);
    await handle.read(prefix, 0, 8, 0);
    const length = Number(prefix.readBigUInt64LE());
    if (length > size - 8) throw incomplete(file, `its header of ${length} bytes is longer than the file`);
    const text = Buffer.alloc(length);
    await handle.read(text, 0, length, 8);
    const end = coveredBytes(file, text.toString('utf8'));
    if (8 + length + end !== size) {
      throw incomplete(file, `expected ${8 + length + end} bytes, found ${size}`);
    }
  } finally {
    await handle.close();
  }
}

function coveredBytes(file: string, text: string): number {
  let header: Record<string, { data_offsets?: [number, number] }>;
  try {
    header = JSON.parse(text);
  } catch {
    throw incomplete(file, 'its header is not JSON');
  }
  const spans = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([, tensor]): [number, number] => tensor.data_offsets ?? [Number.NaN, Number.NaN])
    .sort((a, b) => a[0] - b[0]);
  let end = 0;
  for (const [from, to] of spans) {
    if (from !== end || to < from) throw incomplete(file, `no tensor starts at byte ${end} of its data`);
    end = to;
  }
  return end;
}

function incomplete(file: string, what: string): VfError {
  return new VfError('VF_CHECKPOINT', `${file} was not written whole: ${what}`, { exitCode: 1 });
}

function prune(root: string, newest: number, options: SaveOptions): void {
  const kept = new Set((options.protect ?? []).map((folder) => path.resolve(folder)));
  const old = readdirSync(root)
    .map((name) => ({ name, step: stepOf(name) }))
    .filter((entry): entry is { name: string; step: number } => entry.step !== null && entry.step <= newest)
    .sort((a, b) => b.step - a.step)
    .slice(Math.max(1, options.keep));
  for (const { name } of old) {
    const folder = path.resolve(root, name);
    const holds = [...kept].some((place) => place === folder || place.startsWith(folder + path.sep));
    if (!holds) rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes what a killed save left behind in the run. */
export function clearUnfinished(run: string): void {
  const root = path.join(run, RUN_FILES.checkpoints);
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) {
    if (name.startsWith(ASIDE)) rmSync(path.join(root, name), { recursive: true, force: true });
  }
}
