/** `vf bench`: the record of a step, and which peers a work has. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vf } from './vf.js';

test('the record of rl-step states every length, and a group computes |prompt| + Σ |suffix|', async () => {
  const { code, stdout } = await vf(['bench', 'rl-step', '--shape', 'A', '--repeats', '1', '--json']);
  assert.equal(code, 0);
  const record = JSON.parse(stdout);
  assert.deepEqual(record.sizes, { questions: 4, group: 8, prompt: 64, trace: 128, patch: 12 });
  assert.equal(record.parameters, 6_950_528);
  assert.ok(record.machine.cores > 0 && record.versions.vf === '0.1.0');
  const tokens = Object.fromEntries(
    record.rows.map((row: { phase: string; tokens: number }) => [row.phase, row.tokens]),
  );
  assert.equal(tokens.prompts, 4 * 64);
  assert.equal(tokens.traces, 32 * 126, 'the border is forced');
  assert.equal(tokens.update, 4 * (64 + 8 * (128 + 12)));
});

test('a peer that does not do the work is refused by name', async () => {
  const { code, stderr } = await vf(['bench', 'rl-step', '--peer', 'torch']);
  assert.equal(code, 2);
  assert.match(stderr, /Expected none with vf bench rl-step for --peer but received "torch"/);
});

test('a peer that is not there is named with the remedy', async () => {
  const { code, stderr } = await vf(['bench', 'decode', '--peer', 'llama']);
  assert.equal(code, 3);
  assert.match(stderr, /Expected llama to run beside vf but .*VF_PEER_DIR is not set/);
  assert.match(stderr, /npm install --prefix peer node-llama-cpp/);
});
