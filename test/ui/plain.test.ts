/** The plain reporter: golden lines, headings, progress and heartbeat. */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { jsonReporter } from '../../src/ui/json.js';
import { plainReporter } from '../../src/ui/plain.js';
import { reporterKind } from '../../src/ui/reporter.js';
import { at, evaluation, SAMPLE, START, step } from './events.js';

function terminal(errIsTty = false) {
  const written = { out: '', err: '' };
  return {
    written,
    out: (text: string) => {
      written.out += text;
    },
    err: (text: string) => {
      written.err += text;
    },
    outIsTty: false,
    errIsTty,
    columns: 80,
  };
}

/** Lets mocked time pass in the reporter's own steps. */
function pass(ms: number): void {
  for (let done = 0; done < ms; done += 250) mock.timers.tick(250);
}

function read(screen: ReturnType<typeof terminal>): string {
  return screen.written.err;
}

test('a run prints its banner, evaluations, a line a step and what to do next', () => {
  const screen = terminal();
  const reporter = plainReporter(screen);
  const end = {
    event: 'end',
    exitCode: 0,
    summary: { report: 'runs/a/report.html', next: ['npx vf sample', 'npx vf eval bundled'] },
  } as const;
  const events = [START, evaluation(0, 0.413), step(1), SAMPLE, step(2, { 'reward/mean': 0.44 }), step(120)];
  for (const event of [...events, evaluation(120, 0.669), at(140, end)]) reporter.event(event);
  reporter.close();
  assert.equal(screen.written.err, '');
  assert.equal(
    screen.written.out,
    `vf 0.1.0 · train · cpu avx512 · 2 threads
model   bundled tiny (qwen3, 0.5 M parameters)
run     runs/train-1201-2146-7f3a   (Ctrl-C: finish the step and save; twice: leave now)

before          bundled-test 41.3 % ± 2.7   no answer 1.9 %
  step      R   log R   border  tokens  |grad|   clip  mismatch   tok/s     left
     1  0.380   -1.71   97.9 %    41.2    2.31  0.0 %         0   6,240     1:59
     2  0.440   -1.71   97.9 %    41.2    2.31  0.0 %         0   6,240     1:58
   120  0.380   -1.71   97.9 %    41.2    2.31  0.0 %         0   6,240     0:00
after 120       bundled-test 66.9 % ± 2.7   (+25.6)   no answer 1.9 %   2 min 10 s

report  runs/a/report.html
next    npx vf sample
        npx vf eval bundled
`,
  );
});

test('the heading comes again every 20 steps', () => {
  const screen = terminal();
  const reporter = plainReporter(screen);
  for (let n = 1; n <= 41; n++) reporter.event(step(n));
  reporter.close();
  assert.equal(screen.written.out.split('\n').filter((line) => line.includes('|grad|')).length, 3);
});

test('a warning is shown once, and listed at the end with its count', () => {
  const screen = terminal();
  const reporter = plainReporter(screen);
  const warning = { event: 'warning', code: 'VF_X', message: 'odd \u001b[1m row' } as const;
  for (let i = 0; i < 3; i++) reporter.event(at(i, warning));
  reporter.event(at(5, { event: 'end', exitCode: 0, summary: {} }));
  reporter.close();
  assert.equal(screen.written.err, 'warning: odd ␛[1m row\n');
  assert.equal(screen.written.out, '\nwarning (3 times): odd ␛[1m row\n');
});

test('an interrupted run says where it was saved and how to go on', () => {
  const screen = terminal();
  const reporter = plainReporter(screen);
  reporter.event(at(1, { event: 'checkpoint', step: 37, path: 'runs/a/checkpoints/step-37' }));
  const summary = { resume: 'npx vf train --resume --out runs/a' };
  reporter.event(at(2, { event: 'end', exitCode: 130, summary }));
  reporter.close();
  assert.equal(
    screen.written.out,
    '\nsaved at step 37: runs/a/checkpoints/step-37\nresume  npx vf train --resume --out runs/a\n',
  );
});

test('a failure prints nothing of its own: the error does', () => {
  const screen = terminal();
  const reporter = plainReporter(screen);
  const error = { code: 'VF_X', message: 'm' };
  reporter.event(at(2, { event: 'end', exitCode: 1, summary: { report: 'r' }, error }));
  reporter.close();
  assert.deepEqual(screen.written, { out: '', err: '' });
});

test('progress shows after half a second, once a phase, and a silent job speaks every 30 s', () => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const screen = terminal();
  const reporter = plainReporter(screen);
  const sampling = { event: 'progress', phase: 'sampling', done: 12, total: 128, unit: 'traces' } as const;
  reporter.event(at(0, sampling));
  mock.timers.tick(250);
  assert.equal(screen.written.err, '');
  mock.timers.tick(500);
  assert.equal(screen.written.err, 'sampling: 12 of 128 traces\n');
  pass(29_000);
  assert.equal(screen.written.err, 'sampling: 12 of 128 traces\n');
  pass(61_000);
  const lines = read(screen).trimEnd().split('\n');
  assert.equal(lines.length, 4);
  assert.equal(lines[1], '… sampling: 12 of 128 traces, before the first step, 0:30 since the last line');
  reporter.close();
  pass(120_000);
  assert.equal(read(screen).trimEnd().split('\n').length, 4);
  mock.timers.reset();
});

test('on a terminal, progress is one line of stderr that is wiped before the next line', () => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const screen = terminal(true);
  const reporter = plainReporter(screen);
  reporter.event(at(0, { event: 'progress', phase: 'loading', done: 0, total: 1, unit: '' }));
  mock.timers.tick(750);
  reporter.event(step(1));
  reporter.close();
  mock.timers.reset();
  assert.equal(screen.written.err, '\r\u001b[Kloading\r\u001b[K');
});

test('--json prints events and nothing else', () => {
  const screen = terminal();
  const reporter = jsonReporter(screen);
  for (const event of [START, step(1), SAMPLE]) reporter.event(event);
  const lines = screen.written.out.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [START, step(1), SAMPLE],
  );
});

test('the live screen needs a terminal that nobody else reads', () => {
  const [off, tty, pipe] = [{ json: false, plain: false }, { outIsTty: true }, { outIsTty: false }];
  assert.equal(reporterKind(off, tty, { TERM: 'xterm' }), 'live');
  assert.equal(reporterKind(off, pipe, { TERM: 'xterm' }), 'plain');
  assert.equal(reporterKind(off, tty, { TERM: 'dumb' }), 'plain');
  assert.equal(reporterKind(off, tty, { CI: 'true' }), 'plain');
  assert.equal(reporterKind(off, tty, { CI: 'false' }), 'live');
  assert.equal(reporterKind({ json: false, plain: true }, tty, {}), 'plain');
  assert.equal(reporterKind({ json: true, plain: true }, tty, {}), 'json');
});
