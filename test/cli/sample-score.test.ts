/** `vf sample` and `vf score` on the bundled model, as a user runs them. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { scratch } from '../scratch.js';
import { outcome, startBuilt } from './vf.js';

const root = scratch('score');
const vf = (...words: string[]) => outcome(startBuilt(words));
const PROMPT = 'Bob has 21 cards, buys 7 more and paints 8. How many cards does Bob have?';

interface Reply {
  text: string;
  ids: number[];
  logprobs: number[];
  finish: string;
  answer: string | null;
  reward: number | null;
}

test('a reply ends at its closing tag and states its answer', async () => {
  const { code, stdout, stderr } = await vf('sample', '--prompt', PROMPT, '--temperature', '0', '--json');
  assert.equal(code, 0, stderr);
  const { replies } = JSON.parse(stdout) as { replies: Reply[] };
  assert.equal(replies.length, 1);
  assert.equal(replies[0]!.finish, 'stop');
  assert.match(replies[0]!.text, /<answer> \\boxed\{\w+\} <\/answer>/);
  assert.notEqual(replies[0]!.answer, null);
});

test('with a reference every trace stops at the border and carries R; samples differ, the seed repeats', async () => {
  const words = ['sample', '--prompt', PROMPT, '--reference', '28', '--samples', '4', '--json'];
  const first = await vf(...words);
  const { replies } = JSON.parse(first.stdout) as { replies: Reply[] };
  assert.equal(new Set(replies.map(({ text }) => text)).size > 1, true);
  for (const { text, reward, finish } of replies) {
    assert.equal(finish, 'border');
    assert.ok(text.endsWith('<answer'));
    assert.ok(reward! > 0 && reward! <= 1);
  }
  assert.equal((await vf(...words)).stdout, first.stdout);
});

test('stored ids score to the bits that sampling gave', async () => {
  const { stdout } = await vf('sample', '--prompt', PROMPT, '--json');
  const { promptIds, replies } = JSON.parse(stdout) as { promptIds: number[]; replies: Reply[] };
  const { ids, logprobs, text } = replies[0]!;
  const file = path.join(root, 'rows.jsonl');
  const rows = [
    { ids: [...promptIds, ...ids], from: promptIds.length },
    { prompt: 'What?', completion: text },
  ];
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const [stored, fromText] = (await vf('score', file)).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { source: string; logprobs: number[] });
  assert.equal(stored!.source, 'ids');
  assert.deepEqual(stored!.logprobs, logprobs);
  assert.equal(fromText!.source, 'text', 'the text route says so');
});

test('a row with another number of log-probs than ids is named', async () => {
  const file = path.join(root, 'bad.jsonl');
  writeFileSync(file, `${JSON.stringify({ ids: [1, 2, 3], logprobs: [0, 0] })}\n`);
  const { code, stderr } = await vf('score', file);
  assert.equal(code, 2);
  assert.match(stderr, /row 1: 3 ids, 2 logprobs/);
  assert.match(stderr, /bad\.jsonl:1/);
});

test('a flag that does not exist and a missing prompt are usage errors', async () => {
  const unknown = await vf('sample', '--promt', 'x');
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /--prompt/);
  const missing = await vf('sample');
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /Expected a question for --prompt/);
});
