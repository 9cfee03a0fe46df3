/** Run folders: names, refusals, stored settings, and files cut back on resume. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { resolveConfig, transientNames } from '../../src/config/resolve.js';
import { saveCheckpoint } from '../../src/run/checkpoint.js';
import { listRuns, newestRun, newRunName, resolveModelPath } from '../../src/run/folder.js';
import { emitter, runLog } from '../../src/run/log.js';
import { openRun, placeRun, readStoredConfig } from '../../src/run/store.js';
import { vf } from '../cli/vf.js';
import { scratch } from '../scratch.js';

const root = scratch('store');
const { values, origins } = resolveConfig('train', { flags: { seed: '5' }, env: {} });
const config = { values, origins, transient: transientNames('train') };

function begin(folder: string, resume = false, force = false) {
  const store = openRun({ folder, command: 'train', resume, force, config });
  store.keep();
  return store;
}

function checkpoint(folder: string, step: number, lengths: () => Record<string, number>) {
  const write = async (target: string) => writeFileSync(path.join(target, 'config.json'), '{}');
  return saveCheckpoint({ run: folder, step, lengths, state: { cursor: step * 2 }, write, keep: 2 });
}

test('a run without --out gets its command, local time and four hex digits as its name', () => {
  const name = newRunName('train', new Date(2025, 11, 1, 21, 46));
  assert.match(name, /^train-1201-2146-[0-9a-f]{4}$/);
});

test('config.yaml holds every setting with its origin, and none about one call', () => {
  const folder = path.join(root, 'config');
  begin(folder).close();
  const text = readFileSync(path.join(folder, 'config.yaml'), 'utf8');
  assert.match(text, /^seed: 5 {2}# --seed$/m);
  assert.match(text, /^max-tokens: 56 {2}# preset tiny$/m);
  assert.match(text, /^map: \{\} {2}# default$/m);
  assert.doesNotMatch(text, /^(json|resume|out|preset):/m);
  const again = resolveConfig('train', { flags: {}, env: {}, stored: readStoredConfig(folder) });
  const kept = Object.entries(values).filter(([name]) => !config.transient.has(name));
  for (const [name, value] of kept) assert.deepEqual(again.values[name], value, name);
});

test('a folder that holds a run is refused without --resume or --force', () => {
  const folder = path.join(root, 'taken');
  begin(folder).close();
  const place = { command: 'train', out: folder, resume: false, force: false };
  assert.throws(() => placeRun(place), { code: 'VF_RUN_EXISTS', exitCode: 2 });
  assert.equal(placeRun({ ...place, resume: true }), folder);
  assert.equal(placeRun({ ...place, force: true }), folder);
  assert.throws(() => placeRun({ ...place, command: 'sft', resume: true }), /run of vf train, not of vf sft/);
  assert.throws(() => placeRun({ ...place, out: path.join(root, 'none'), resume: true }), /no run to resume/);
});

test('a run that never starts leaves nothing behind, and one that --force replaced is back', () => {
  const fresh = path.join(root, 'never', 'started');
  openRun({ folder: fresh, command: 'train', resume: false, force: false, config }).close();
  assert.ok(!existsSync(fresh));
  const folder = path.join(root, 'replaced');
  const first = begin(folder);
  first.file('events.jsonl').append({ a: 1 });
  first.close();
  writeFileSync(path.join(folder, 'notes.txt'), 'mine');
  const second = openRun({ folder, command: 'train', resume: false, force: true, config });
  second.file('events.jsonl').append({ b: 2 });
  second.close();
  assert.equal(readFileSync(path.join(folder, 'events.jsonl'), 'utf8'), '{"a":1}\n');
  assert.equal(readFileSync(path.join(folder, 'notes.txt'), 'utf8'), 'mine');
  // killed before its start: the next call finds the old run again
  mkdirSync(path.join(folder, '.replaced'));
  for (const name of ['config.yaml', 'manifest.json', 'events.jsonl'])
    renameSync(path.join(folder, name), path.join(folder, '.replaced', name));
  writeFileSync(path.join(folder, 'manifest.json'), '{}');
  placeRun({ command: 'train', out: folder, resume: true, force: false });
  assert.equal(readFileSync(path.join(folder, 'events.jsonl'), 'utf8'), '{"a":1}\n');
  assert.ok(!existsSync(path.join(folder, '.replaced')));
});

test('--force deletes the old run and leaves other files alone', () => {
  const folder = path.join(root, 'force');
  const first = begin(folder);
  first.file('events.jsonl').append({ a: 1 });
  first.close();
  writeFileSync(path.join(folder, 'notes.txt'), 'mine');
  begin(folder, false, true).close();
  assert.equal(existsSync(path.join(folder, 'events.jsonl')), false);
  assert.equal(readFileSync(path.join(folder, 'notes.txt'), 'utf8'), 'mine');
});

test('--resume without --out takes the newest run of the same command', () => {
  const runs = path.join(root, 'runs');
  for (const [name, command, created] of [
    ['train-a', 'train', '2025-01-01T00:00:00Z'],
    ['train-b', 'train', '2025-01-03T00:00:00Z'],
    ['sft-c', 'sft', '2025-01-04T00:00:00Z'],
  ] as const) {
    mkdirSync(path.join(runs, name), { recursive: true });
    writeFileSync(path.join(runs, name, 'manifest.json'), JSON.stringify({ command, created }));
  }
  assert.equal(newestRun('train', runs), path.join(runs, 'train-b'));
  assert.deepEqual(
    listRuns(runs).map((run) => run.name),
    ['train-a', 'train-b', 'sft-c'],
  );
  const place = { command: 'ttrl', out: null, resume: true, force: false, root: runs };
  assert.throws(() => placeRun(place), { code: 'VF_NO_RUN' });
});

test('a resume cuts every file back to the checkpoint, but for verdicts', async () => {
  const folder = path.join(root, 'cut');
  const first = begin(folder);
  first.file('metrics.jsonl').append({ step: 1 });
  first.file('verdicts.jsonl').append({ program: 1 });
  await checkpoint(folder, 1, first.lengths);
  first.file('metrics.jsonl').append({ step: 2 });
  first.file('verdicts.jsonl').append({ program: 2 });
  first.file('votes.jsonl').append({ late: true });
  first.close();
  // A kill in the middle of a line.
  writeFileSync(path.join(folder, 'metrics.jsonl'), '{"step":1}\n{"step":2}\n{"st');
  const second = begin(folder, true);
  assert.equal(second.state?.cursor, 2);
  assert.equal(path.basename(second.resumeFrom!), 'step-1');
  second.file('metrics.jsonl').append({ step: 2, again: true });
  second.file('votes.jsonl');
  second.file('verdicts.jsonl').append({ program: 3 });
  second.close();
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
  assert.equal(read('metrics.jsonl'), '{"step":1}\n{"step":2,"again":true}\n');
  assert.equal(read('votes.jsonl'), '');
  assert.equal(read('verdicts.jsonl'), '{"program":1}\n{"program":2}\n{"program":3}\n');
  assert.match(read('config.yaml'), /^seed: 5 {2}# --seed$/m);
});

test('a run killed before its first checkpoint resumes from nothing, with empty files', () => {
  const folder = path.join(root, 'early');
  const first = begin(folder);
  first.file('metrics.jsonl').append({ step: 1 });
  first.close();
  const second = begin(folder, true);
  assert.equal(second.resumeFrom, null);
  assert.equal(second.file('metrics.jsonl').length(), 0);
  second.close();
});

test('a second process is kept out of a run that is being worked on', () => {
  const folder = path.join(root, 'busy');
  begin(folder).close();
  const lock = path.join(folder, 'run.lock');
  writeFileSync(lock, JSON.stringify({ pid: process.ppid, host: hostname() }));
  assert.throws(() => begin(folder, true), { code: 'VF_RUN_BUSY' });
  assert.throws(() => begin(folder, false, true), { code: 'VF_RUN_BUSY' });
  assert.ok(existsSync(path.join(folder, 'config.yaml')));
  // Nobody has this process id: what a kill -9 leaves behind.
  writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }));
  begin(folder, true).close();
  assert.equal(existsSync(lock), false);
});

test('a model path is a run, a checkpoint or a folder; anything else says what is missing', async () => {
  const folder = path.join(root, 'model');
  const store = begin(folder);
  assert.throws(() => resolveModelPath(folder), { code: 'VF_NO_CHECKPOINT' });
  const saved = await checkpoint(folder, 3, store.lengths);
  store.close();
  assert.deepEqual(resolveModelPath(folder), { folder: saved, kind: 'run', run: folder, step: 3 });
  assert.deepEqual(resolveModelPath(saved), { folder: saved, kind: 'checkpoint', run: folder, step: 3 });
  const plain = path.join(root, 'hf');
  mkdirSync(plain);
  assert.throws(() => resolveModelPath(plain), /neither config.json nor a run/);
  writeFileSync(path.join(plain, 'config.json'), '{}');
  assert.deepEqual(resolveModelPath(plain), { folder: plain, kind: 'folder', run: null, step: null });
  assert.throws(() => resolveModelPath(path.join(root, 'modle')), {
    code: 'VF_NO_MODEL',
    hint: `did you mean ${path.join(root, 'model')}?`,
  });
});

test('events go to their files: all but progress to events, steps and evaluations to metrics, traces to samples', () => {
  const folder = path.join(root, 'log');
  const store = begin(folder);
  const emit = emitter(store.name, [runLog(store)]);
  emit({ event: 'progress', phase: 'loading', done: 0, total: 1, unit: 'model' });
  emit({ event: 'step', step: 1, metrics: { 'reward/mean': 0.25 } });
  emit({
    event: 'sample',
    step: 1,
    question: 'q',
    prompt: 'p',
    reference: '4',
    traces: [{ text: '\u001b[2J', ids: [1, 2], finish: 'border', logReward: -1, reward: 0.4, advantage: 0 }],
  });
  emit({ event: 'eval', step: 1, metrics: { 'eval/bundled/accuracy': 0.5 } });
  store.close();
  const lines = (name: string) =>
    readFileSync(path.join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const events = lines('events.jsonl');
  assert.deepEqual(
    events.map((event) => event.event),
    ['step', 'sample', 'eval'],
  );
  assert.deepEqual(Object.keys(events[0]).slice(0, 4), ['v', 'event', 'run', 'time']);
  assert.equal(events[0].run, 'log');
  assert.deepEqual(lines('metrics.jsonl'), [
    { event: 'step', step: 1, metrics: { 'reward/mean': 0.25 } },
    { event: 'eval', step: 1, metrics: { 'eval/bundled/accuracy': 0.5 } },
  ]);
  assert.equal(lines('samples.jsonl')[0].traces[0].text, '\u001b[2J');
});

test('vf train with a mistyped path exits with 2 and leaves no folder; with --force the old run stays', async () => {
  const out = path.join(root, 'typed');
  const fresh = await vf(['train', '--data', 'nope.jsonl', '--out', out, '--json']);
  assert.equal(fresh.code, 2);
  const end = JSON.parse(fresh.stdout.trimEnd().split('\n').at(-1)!);
  assert.equal(end.event, 'end');
  assert.equal(end.run, null);
  assert.ok(!existsSync(out));
  const first = begin(out);
  first.file('events.jsonl').append({ a: 1 });
  first.close();
  const { code } = await vf(['train', '--data', 'nope.jsonl', '--out', out, '--force']);
  assert.equal(code, 2);
  assert.equal(readFileSync(path.join(out, 'events.jsonl'), 'utf8'), '{"a":1}\n');
});
