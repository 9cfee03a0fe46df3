/** The live screen: its state is a function of events, its frame fits, and nothing in a trace acts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { render } from 'ink-testing-library';
import type { RunEvent } from '../../src/run/events.js';
import { finishedLines, Screen } from '../../src/ui/ink/app.js';
import { bar, sparkline } from '../../src/ui/ink/chart.js';
import { frameLines } from '../../src/ui/ink/frame.js';
import { HISTORY, INITIAL_STATE, reduce, secondsLeft, series, type UiState } from '../../src/ui/ink/state.js';
import { width } from '../../src/ui/text.js';
import { at, evaluation, SAMPLE, START, step } from './events.js';

function after(...events: RunEvent[]): UiState {
  return events.reduce(reduce, INITIAL_STATE);
}

test('the state is a function of the events, and time left follows the pace of this session', () => {
  const state = after(START, evaluation(0, 0.4), step(1), step(2), step(3));
  assert.equal(secondsLeft(state), 117);
  assert.deepEqual(series(state, 'reward/mean'), [0.38, 0.38, 0.38]);
  assert.equal(secondsLeft(after(START)), null);
  assert.equal(secondsLeft(after(START, step(40, { 'time/step': 2 }))), 160);
  assert.equal(INITIAL_STATE.steps.length, 0);
});

test('a run of days keeps its newest steps only', () => {
  let state = INITIAL_STATE;
  for (let n = 1; n <= HISTORY + 10; n++) state = reduce(state, step(n));
  assert.equal(state.steps.length, HISTORY);
  assert.equal(state.steps.at(-1)?.step, HISTORY + 10);
  assert.equal(state.firstStep?.step, 1);
});

test('progress belongs to its phase and ends with the step', () => {
  const sampling = { event: 'progress', phase: 'sampling', done: 1, total: 4, unit: 'traces' } as const;
  const state = after(START, at(1, sampling), at(3, { ...sampling, done: 2 }));
  assert.equal(state.progress?.done, 2);
  assert.equal(state.progress?.since, Date.parse(at(1, sampling).time));
  assert.equal(reduce(state, step(1)).progress, null);
});

test('sparklines average what does not fit and leave gaps for what is no number', () => {
  assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8), '▁▂▃▄▅▆▇█');
  assert.equal(sparkline([0, 0, 1, 1], 2), '▁█');
  assert.equal(sparkline([0.5, Number.NaN, 1], 10, 0, 1), '▅ █');
  assert.equal(sparkline([3, 3], 10), '▅▅');
  assert.equal(sparkline([], 10), '');
  assert.equal(bar(0.5, 4), '██░░');
  assert.equal(bar(2, 4), '████');
});

test('the frame shows curves and the newest trace, and never grows wider than the terminal', () => {
  const state = after(START, evaluation(0, 0.413), step(1), SAMPLE, step(2));
  const text = frameLines(state, 80).map((line) => line.text);
  assert.match(text[0]!, /^░{19} step 2 of 120 · 1:58 left · 6,240 tok\/s · \|grad\| 2\.31$/);
  assert.ok(text.includes('R        0.380           ▅▅'));
  assert.ok(text.includes('border   97.9 %          ██'));
  assert.ok(text.includes('accuracy 41.3 % ± 2.7    ▄  bundled-test'));
  assert.ok(text.includes('Tom has 3 boxes of 4 漢字. How many?'));
  assert.ok(text.includes('  Step by step: ␛[2J3*4=12.'));
  for (const columns of [24, 40, 80, 200]) {
    for (const line of frameLines(state, columns))
      assert.ok(width(line.text) < columns, `${columns}: ${line.text}`);
  }
  assert.deepEqual(frameLines(reduce(state, at(9, { event: 'end', exitCode: 0, summary: {} })), 80), []);
  assert.equal(frameLines(INITIAL_STATE, 80)[0]!.text, 'starting');
});

test('finished lines stand above the frame, and a trace can send no escape sequence', () => {
  const state = after(START, step(1), SAMPLE);
  const finished = finishedLines(START, state).map((text, key) => ({ key, text }));
  const { lastFrame, unmount } = render(
    <Screen finished={finished} frame={frameLines(state, 80)} stop={() => {}} />,
  );
  const frame = lastFrame() ?? '';
  unmount();
  assert.match(frame, /^vf 0\.1\.0 · train · cpu avx512 · 2 threads\n/);
  assert.match(frame, /␛\[2J3\*4=12\./);
  assert.ok(!frame.includes('\u001b[2J'));
});

test('Ctrl-C in the live screen asks to stop', async () => {
  let stops = 0;
  const screen = render(<Screen finished={[]} frame={[]} stop={() => stops++} />);
  await new Promise((resolve) => setImmediate(resolve));
  screen.stdin.write('\u0003');
  await new Promise((resolve) => setTimeout(resolve, 50));
  screen.unmount();
  assert.equal(stops, 1);
});
