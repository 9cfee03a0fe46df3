/** The HTML report: self-contained, escaped, with curves. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { correlation, curve, type ReportInput, renderReport } from '../../src/ui/report.js';

const RUN: ReportInput = {
  name: 'train-1201-2146-7f3a',
  command: 'train',
  created: '2025-12-01T21:46:00.000Z',
  status: 'finished',
  settings: { lr: 1e-4, data: '<b>.jsonl' },
  origins: { lr: '--lr' },
  start: null,
  steps: [1, 2, 3].map((n) => ({ step: n, metrics: { 'reward/mean': n / 4, 'time/step': 61 } })),
  evals: [0.4, 0.5, 0.6].map((accuracy, i) => ({
    step: i,
    metrics: { 'eval/t/accuracy': accuracy, 'eval/t/stderr': 0.02, 'eval/t/confidence': accuracy / 2 },
  })),
  summary: { seconds: 221 },
  samples: [
    {
      step: 3,
      question: '2<3?',
      reference: 'yes',
      traces: [{ text: '<script>alert(1)</script>\u001b[2J', finish: 'border', reward: 0.9, advantage: 0.1 }],
    },
  ],
};

test('the report loads nothing, runs nothing and escapes what models and users wrote', () => {
  const html = renderReport(RUN);
  assert.doesNotMatch(html, /<script|<link|<img|https?:|@import|url\(/);
  assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;␛\[2J/);
  assert.match(html, /&lt;b&gt;\.jsonl/);
  assert.match(html, /3 min 41 s/);
  assert.match(html, /<td class="n">60\.0 % ± 2\.0<\/td>/);
  assert.match(html, /ρ = 1\.000, the correlation of accuracy with mean confidence over 3 evaluations/);
  assert.match(html, /<td>lr<\/td><td class="n">0\.0001<\/td><td>--lr<\/td>/);
});

test('a curve spans its plot from the first step to the last', () => {
  const svg = curve('mean R', 'reward/mean', RUN.steps);
  assert.match(svg, /<polyline points="56\.0,120\.0 234\.0,64\.0 412\.0,8\.0"\/>/);
  assert.match(svg, /mean R: 0\.25 → 0\.75/);
  assert.equal(curve('none', 'absent', RUN.steps), '');
  assert.match(curve('one', 'reward/mean', RUN.steps.slice(0, 1)), /<circle/);
});

test('a long run is drawn with 400 points', () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => ({ step: i + 1, metrics: { m: i } }));
  assert.equal(
    curve('m', 'm', rows)
      .match(/points="([^"]*)"/)![1]!
      .split(' ').length,
    400,
  );
});

test('a run without steps still has a report', () => {
  assert.match(renderReport({ ...RUN, steps: [], evals: [], samples: [] }), /^<!doctype html>/);
});

test("correlation is Pearson's, and absent where nothing varies", () => {
  assert.equal(correlation([1, 2, 3], [2, 4, 6]), 1);
  assert.ok(Math.abs(correlation([1, 2, 3, 4], [2, 1, 4, 3])! - 0.6) < 1e-12);
  assert.equal(correlation([1, 2], [1, 2]), null);
  assert.equal(correlation([1, 1, 1], [1, 2, 3]), null);
});
