/** Checkpoints: atomic, verified, pruned only once the new one is whole. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clearUnfinished, saveCheckpoint, verifySafetensors } from '../../src/run/checkpoint.js';
import { requireFree } from '../../src/run/disk.js';
import { latestCheckpoint } from '../../src/run/folder.js';
import { scratch } from '../scratch.js';
import { safetensors } from './safetensors.js';

const root = scratch('checkpoint');

function folder(name: string): string {
  const run = path.join(root, name);
  mkdirSync(path.join(run, 'checkpoints'), { recursive: true });
  return run;
}

function steps(run: string): string[] {
  return readdirSync(path.join(run, 'checkpoints')).sort();
}

function options(run: string, step: number, keep = 2) {
  const write = async (target: string) => {
    writeFileSync(path.join(target, 'model.safetensors'), safetensors(new Uint8Array(64).fill(step)));
  };
  return { run, step, keep, write, lengths: () => ({ 'metrics.jsonl': step * 10 }), state: { seed: 7 } };
}

test('a checkpoint holds its step, the lengths of the files and the given state', async () => {
  const run = folder('state');
  const saved = await saveCheckpoint(options(run, 4));
  assert.deepEqual(JSON.parse(readFileSync(path.join(saved, 'state.json'), 'utf8')), {
    seed: 7,
    v: 1,
    step: 4,
    files: { 'metrics.jsonl': 40 },
  });
  assert.equal(readFileSync(path.join(run, 'checkpoints', 'latest'), 'utf8'), 'step-4\n');
});

test('only the newest are kept, and never one that is referenced goes', async () => {
  const run = folder('prune');
  const first = await saveCheckpoint(options(run, 1));
  for (const step of [2, 3, 10]) await saveCheckpoint({ ...options(run, step), protect: [first] });
  assert.deepEqual(steps(run), ['latest', 'step-1', 'step-10', 'step-3']);
});

test('saving a step twice keeps the weights and renews the lengths', async () => {
  const run = folder('twice');
  await saveCheckpoint(options(run, 1));
  const write = () => assert.fail('written again');
  const saved = await saveCheckpoint({ ...options(run, 1), write, lengths: () => ({ 'metrics.jsonl': 99 }) });
  const state = JSON.parse(readFileSync(path.join(saved, 'state.json'), 'utf8'));
  assert.deepEqual(state.files, { 'metrics.jsonl': 99 });
});

test('a disk that fills leaves the old checkpoint whole and nothing of the new one', async () => {
  const run = folder('full');
  await saveCheckpoint(options(run, 1, 1));
  const write = async (target: string) => {
    writeFileSync(path.join(target, 'model.safetensors'), 'half');
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  await assert.rejects(saveCheckpoint({ ...options(run, 2, 1), write, bytes: 5e9 }), (error: Error) => {
    assert.match(error.message, /it needs 5,000 MB, [\d,.]+ MB free$/);
    assert.equal((error as { exitCode?: number }).exitCode, 3);
    return true;
  });
  assert.deepEqual(steps(run), ['latest', 'step-1']);
  assert.equal(latestCheckpoint(run)?.step, 1);
});

test('a file that was cut, or not covered by its header, never becomes a checkpoint', async () => {
  const run = folder('cut');
  await saveCheckpoint(options(run, 1, 1));
  const whole = safetensors(new Uint8Array(64));
  const trailing = Buffer.concat([whole, Buffer.alloc(16)]);
  for (const bytes of [
    whole.subarray(0, 100),
    whole.subarray(0, 5),
    trailing,
    Buffer.from('<html>error</html>'),
  ]) {
    const write = async (target: string) => writeFileSync(path.join(target, 'model.safetensors'), bytes);
    await assert.rejects(saveCheckpoint({ ...options(run, 2, 1), write }), { code: 'VF_CHECKPOINT' });
    assert.deepEqual(steps(run), ['latest', 'step-1']);
  }
  const file = path.join(root, 'gap.safetensors');
  writeFileSync(file, safetensors(new Uint8Array(64), 80));
  await assert.rejects(verifySafetensors(file), /expected \d+ bytes, found \d+/);
});

test('what a killed save left aside is cleared, and does not count as a checkpoint', async () => {
  const run = folder('aside');
  await saveCheckpoint(options(run, 1));
  mkdirSync(path.join(run, 'checkpoints', '.tmp-step-2'));
  assert.equal(latestCheckpoint(run)?.step, 1);
  clearUnfinished(run);
  assert.deepEqual(steps(run), ['latest', 'step-1']);
});

test('a complete folder that latest never named is written again', async () => {
  const run = folder('unnamed');
  await saveCheckpoint(options(run, 1));
  mkdirSync(path.join(run, 'checkpoints', 'step-2'));
  writeFileSync(path.join(run, 'checkpoints', 'step-2', 'old'), 'x');
  const saved = await saveCheckpoint(options(run, 2));
  assert.equal(existsSync(path.join(saved, 'old')), false);
  assert.equal(latestCheckpoint(run)?.step, 2);
});

test('room is checked before a run starts', () => {
  assert.throws(() => requireFree(root, 2 ** 60, 'a checkpoint'), {
    code: 'VF_DISK_FULL',
    exitCode: 3,
    message: /^a checkpoint needs 1,152,921,504,607 MB at /,
  });
  requireFree(path.join(root, 'not', 'there', 'yet'), 1000, 'a checkpoint');
});

test('kill -9 at any moment of saving with --keep 1 leaves one complete checkpoint that latest names', async () => {
  for (const delay of [0, 3, 7, 13]) {
    const run = folder(`kill-${delay}`);
    const script = path.join(import.meta.dirname, 'save-forever.ts');
    const child = spawn(process.execPath, ['--import', 'tsx', script, run], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    await sleep(delay);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const latest = latestCheckpoint(run);
    assert.notEqual(latest, null);
    const file = path.join(latest!.folder, 'model.safetensors');
    await verifySafetensors(file);
    assert.equal(readFileSync(file).at(-1), latest!.step % 256);
  }
});
