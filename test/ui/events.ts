/** Events of a small run, for UI tests. */

import type { EventBody, RunEvent } from '../../src/run/events.js';

/** An event at `seconds` after the run's start. */
export function at(seconds: number, body: EventBody): RunEvent {
  const time = new Date(Date.UTC(2025, 11, 1, 21, 46) + seconds * 1000).toISOString();
  const { event, ...rest } = body;
  return { v: 1, event, run: 'train-1201-2146-7f3a', time, ...rest } as RunEvent;
}

export const START = at(0, {
  event: 'start',
  command: 'train',
  version: '0.1.0',
  device: 'cpu avx512 · 2 threads',
  banner: [{ label: 'model', value: 'bundled tiny (qwen3, 0.5 M parameters)' }],
  settings: {},
  folder: 'runs/train-1201-2146-7f3a',
  steps: 120,
});

/** Step `n` at one second a step. */
export function step(n: number, more: Record<string, number> = {}): RunEvent {
  const metrics = {
    'reward/mean': 0.38,
    'reward/log_mean': -1.71,
    'border/rate': 0.979,
    'trace/tokens': 41.2,
    'grad/norm': 2.31,
    'ratio/clip_share': 0,
    'mismatch/max_abs_logprob': 0,
    tokens_per_s: 6240.4,
    'time/step': 1,
    ...more,
  };
  return at(10 + n, { event: 'step', step: n, metrics });
}

/** An evaluation of bundled-test. */
export function evaluation(n: number, accuracy: number): RunEvent {
  const metrics = {
    'eval/bundled-test/accuracy': accuracy,
    'eval/bundled-test/stderr': 0.027,
    'eval/bundled-test/unparsed': 0.019,
  };
  return at(10 + n, { event: 'eval', step: n, metrics });
}

/** A group whose first trace would act on a terminal. */
export const SAMPLE = at(11, {
  event: 'sample',
  step: 1,
  question: 'Tom has 3 boxes of 4 漢字. How many?',
  prompt: '',
  reference: '12',
  traces: [
    {
      text: 'Step by step: \u001b[2J3*4=12.\nSo 12.',
      ids: [1],
      finish: 'border',
      logReward: -0.1,
      reward: 0.9,
      advantage: 0.2,
    },
  ],
});
