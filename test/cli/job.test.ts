/** Long jobs: files, exit codes, both stages of Ctrl-C, closed pipes. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratch } from '../scratch.js';
import { outcome, start } from './vf.js';

const root = scratch('job');
const script = path.join(import.meta.dirname, 'small-job.ts');

function job(
  name: string,
  steps: number,
  pause: number,
  words: string[] = [],
  env: Record<string, string> = {},
) {
  return start([String(steps), String(pause), '--out', path.join(root, name), ...words], { script, env });
}

function metrics(name: string): { step: number }[] {
  const text = readFileSync(path.join(root, name, 'metrics.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function untilStep(child: ReturnType<typeof job>, step: number): Promise<void> {
  let text = '';
  while (!text.includes(`"step":${step},`)) text += String((await once(child.stdout, 'data'))[0]);
}

test('a finished job exits with 0 and leaves settings, metrics, events and a report', async () => {
  const { code, stdout, stderr } = await outcome(job('done', 3, 0, ['--seed', '4']));
  assert.equal(code, 0);
  const folder = path.join(root, 'done');
  assert.match(stdout, /\n {5}3 {2}0\.300 {5}\d:\d\d\n/);
  assert.match(stdout, new RegExp(`\nreport {2}${folder}/report.html\nnext {4}npx vf sample\n$`));
  assert.equal(stderr, '');
  assert.deepEqual(
    metrics('done').map(({ step }) => step),
    [1, 2, 3],
  );
  assert.match(readFileSync(path.join(folder, 'config.yaml'), 'utf8'), /^seed: 4 {2}# --seed$/m);
  assert.match(readFileSync(path.join(folder, 'report.html'), 'utf8'), /<svg/);
  assert.equal(existsSync(path.join(folder, 'run.lock')), false);
});

test('with --json every line of stdout is an event, end last', async () => {
  const { stdout } = await outcome(job('json', 2, 0, ['--json']));
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    events.map(({ event }) => event),
    ['start', 'step', 'step', 'end'],
  );
  assert.ok(events.every(({ v, run }) => v === 1 && run === 'json'));
  assert.equal(events[3].exitCode, 0);
  assert.equal(events[3].summary.report, path.join(root, 'json', 'report.html'));
});

test('a failure ends the job with its exit code and is printed once', async () => {
  const failed = await outcome(job('failed', 5, 0, [], { FAIL: '1' }));
  assert.equal(failed.code, 1);
  assert.equal(failed.stderr, 'error: loss became NaN\nhelp: lower --lr\n');
  assert.doesNotMatch(failed.stdout, /NaN/);
  const json = await outcome(job('failed-json', 5, 0, ['--json'], { FAIL: '1' }));
  assert.equal(json.stderr, '');
  const end = JSON.parse(json.stdout.trimEnd().split('\n').at(-1)!);
  assert.deepEqual(end.error, { code: 'VF_NOT_FINITE', message: 'loss became NaN', hint: 'lower --lr' });
  assert.equal(end.exitCode, 1);
});

test('the first SIGINT finishes the step and prints how to resume (130); SIGTERM likewise (143)', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const child = job(signal, 1000, 20, ['--json']);
    await untilStep(child, 2);
    const ended = outcome(child);
    child.kill(signal);
    const { code: exit, stdout } = await ended;
    assert.equal(exit, code);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const end = events.at(-1);
    assert.equal(end.event, 'end');
    assert.equal(end.exitCode, code);
    assert.equal(end.summary.resume, `npx vf train --resume --out ${path.join(root, signal)}`);
    assert.equal(events.find(({ event }) => event === 'warning').code, 'VF_STOPPING');
    assert.equal(metrics(signal).at(-1)!.step, end.summary.steps);
  }
});

test('the second SIGINT leaves at once with 130, and a third harms nothing', async () => {
  const child = job('twice', 3, 5000, ['--json']);
  await once(child.stdout, 'data');
  const ended = outcome(child);
  const began = performance.now();
  for (let i = 0; i < 3; i++) {
    child.kill('SIGINT');
    await sleep(100);
  }
  const { code, stderr } = await ended;
  assert.equal(code, 130);
  assert.ok(performance.now() - began < 4000);
  assert.match(
    stderr,
    /^left at once; the last checkpoint is whole\. Continue with: vf train --resume --out /,
  );
});

test('a job whose stdout closes goes on to its end, and its files are complete', async () => {
  const child = job('closed', 30, 5, ['--json']);
  await untilStep(child, 1);
  child.stdout.destroy();
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  assert.equal(metrics('closed').length, 30);
});

test('without a terminal, in CI and with --plain there are plain lines and no cursor codes', async () => {
  const { code, stdout } = await outcome(job('ci', 2, 0, [], { CI: 'true' }));
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /\u001b/);
});

test('a folder that holds a run is refused with exit code 2, and --resume keeps its settings', async () => {
  assert.equal((await outcome(job('again', 1, 0, ['--seed', '9']))).code, 0);
  const refused = await outcome(job('again', 1, 0));
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /already holds a run\nhelp: continue it with --resume/);
  assert.equal((await outcome(job('again', 2, 0, ['--resume']))).code, 0);
  const folder = path.join(root, 'again');
  assert.match(readFileSync(path.join(folder, 'config.yaml'), 'utf8'), /^seed: 9 {2}# --seed$/m);
  const differs = await outcome(job('again', 2, 0, ['--resume', '--seed', '1']));
  assert.equal(differs.code, 2);
  assert.match(differs.stderr, /the run has seed 9, --seed says 1/);
});
