/** `vf runs`, `vf data`, `vf model` and `vf doctor` on real folders. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readRun } from '../../src/cli/run-record.js';
import { table } from '../../src/cli/table.js';
import { resolveConfig, transientNames } from '../../src/config/resolve.js';
import { emitter, runLog } from '../../src/run/log.js';
import { openRun } from '../../src/run/store.js';
import { scratch } from '../scratch.js';
import { start, vf } from './vf.js';

const root = scratch('runs');

function makeRun(name: string, lr: string, accuracy: number, exitCode: number | null): string {
  const folder = path.join(root, 'runs', name);
  const { values, origins } = resolveConfig('train', { flags: { lr }, env: {} });
  const config = { values, origins, transient: transientNames('train') };
  const store = openRun({ folder, command: 'train', resume: false, force: false, config });
  const emit = emitter(store.name, [runLog(store)]);
  emit({
    event: 'start',
    command: 'train',
    version: '0',
    device: 'cpu',
    banner: [],
    settings: {},
    folder,
    steps: 2,
  });
  emit({ event: 'step', step: 2, metrics: { 'reward/mean': 0.5, 'grad/norm': 2 } });
  emit({ event: 'eval', step: 2, metrics: { 'eval/t/accuracy': accuracy, 'eval/t/stderr': 0.01 } });
  if (exitCode !== null) emit({ event: 'end', exitCode, summary: {} });
  store.close();
  return folder;
}

makeRun('train-a', '1e-4', 0.5, 0);
makeRun('train-b', '2e-4', 0.6, 130);
const killed = makeRun('train-c', '2e-4', 0.7, null);

test('vf runs list shows every run with its state; head -1 ends it quietly', async () => {
  const { code, stdout, stderr } = await vf(['runs', 'list'], { cwd: root });
  assert.equal(code, 0);
  assert.equal(stderr, '');
  const lines = stdout.trimEnd().split('\n');
  assert.match(lines[0]!, /^run +begun +status +step +last evaluation$/);
  assert.match(lines[1]!, /^runs\/train-a +\d{4}-\d\d-\d\d \d\d:\d\d +finished +2\/2 +t 50\.0 % ± 1\.0$/);
  assert.match(lines[2]!, / interrupted /);
  assert.match(lines[3]!, / killed /);
  const child = start(['runs', 'list'], { cwd: root });
  child.stdout.destroy();
  let talk = '';
  child.stderr.on('data', (text) => {
    talk += text;
  });
  const exit = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(exit, 0);
  assert.equal(talk, '');
});

test('vf runs compare shows settings that differ and last metrics', async () => {
  const { stdout } = await vf(['runs', 'compare', 'train-a', 'train-b'], { cwd: root });
  assert.match(stdout, /^setting +train-a +train-b\nlr +0\.0001 +0\.0002\n\n/);
  assert.match(stdout, /\neval\/t\/accuracy +0\.50 +0\.60\n/);
});

test('a half-written last line is left out, and a run that stopped without an end was killed', () => {
  writeFileSync(path.join(killed, 'metrics.jsonl'), '{"event":"step","step":1,"metrics":{}}\n{"event":"st');
  const run = readRun(killed);
  assert.equal(run.steps.length, 1);
  assert.equal(run.status, 'killed');
});

test('tables align by width, numbers to the right', () => {
  assert.deepEqual(
    table(
      ['name', '>n'],
      [
        ['漢字', '5'],
        ['abc', '1,000'],
      ],
    ),
    ['name      n', '漢字      5', 'abc   1,000'],
  );
});

test('vf data filter keeps usable rows, counts the others, and writes - to stdout', async () => {
  const file = path.join(root, 'q.jsonl');
  writeFileSync(
    file,
    '{"question":"1+1?","answer":"2"}\n{"question":"?","answer":""}\n{"question":"2+2?","answer":"4"}\n',
  );
  const { code, stdout, stderr } = await vf(['data', 'filter', file, '--out', '-']);
  assert.equal(code, 0);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).answer),
    ['2', '4'],
  );
  assert.equal(stderr, 'kept 2 of 3 rows\ndropped 1: empty answer\n');
  const out = path.join(root, 'kept.jsonl');
  const json = await vf(['data', 'filter', file, '--out', out, '--json']);
  assert.equal(JSON.parse(json.stdout).kept, 2);
  assert.equal(readFileSync(out, 'utf8'), stdout);
});

test('vf model init and info name sizes and hash; a folder with files is refused', async () => {
  const out = path.join(root, 'model');
  const made = await vf(['model', 'init', '--shape', 'tiny', '--out', out, '--json']);
  assert.equal(made.code, 0, made.stderr);
  const info = JSON.parse((await vf(['model', 'info', out, '--json'])).stdout);
  assert.equal(info.parameters, JSON.parse(made.stdout).parameters);
  assert.match(info.sha256, /^[0-9a-f]{64}$/);
  const again = await vf(['model', 'init', '--out', out]);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /Expected a new or empty folder for --out/);
});
