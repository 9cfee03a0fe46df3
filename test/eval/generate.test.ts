/** Replies do not depend on how they are batched, chunked or continued. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type OpenModel, openModel } from '../../src/cli/open-model.js';
import { type GenerateParts, generateReplies } from '../../src/eval/generate.js';
import { type Prepared, prepareItems } from '../../src/eval/prepare.js';
import { templateStyle } from '../../src/eval/prompt.js';
import type { Item } from '../../src/eval/task.js';
import type { ReplyRow } from '../../src/run/evaluation.js';
import { closingTag } from '../../src/text/template.js';
import { scratch } from '../scratch.js';
import { randomModel } from './model.js';

const root = scratch('generate');
let model: OpenModel;
let prepared: Prepared[];

const items: Item[] = Array.from({ length: 7 }, (_, i) => ({
  id: `q${i}`,
  question: `${'Count. '.repeat(i)}What is ${i} + ${2 * i}?`,
  answers: [String(3 * i)],
  category: '',
  judge: 'boxed',
}));

const prepare = (maxTokens: number, maxPositions = 512) =>
  prepareItems(
    {
      tokenizer: model.tokenizer,
      style: templateStyle('verifree', model.template, closingTag(model.template)),
      maxPromptTokens: 400,
      maxTokens,
      maxPositions,
      limit: 0,
      confidence: true,
      examplesFor: () => ({ items: [], text: null }),
      shots: 0,
    },
    items,
  );

before(async () => {
  const folder = randomModel(path.join(root, 'model'));
  model = await openModel({ model: folder, device: 'cpu', dtype: 'f32', threads: 2 }, { trainable: false });
  prepared = (await prepare(24)).prepared;
});
after(async () => {
  await model.policy.close();
});

async function replies(changes: Partial<GenerateParts> = {}, asked = prepared): Promise<ReplyRow[]> {
  const parts: GenerateParts = {
    task: 'toy',
    policy: model.policy,
    decode: (ids) => model.tokenizer.decode(ids, { special: true }),
    sampling: {
      ...{ seed: 9n, temperature: 1, topP: 0.95, topK: 0, eosIds: model.folder.eosIds },
      ...{ stops: ['</answer>'], maxBatch: 64 },
    },
    samples: 3,
    firstOccurrence: 0,
    // A random model writes no tag; a letter stands in for it, so that confidence is scored at all.
    border: 'e',
    confidence: true,
    microBatchTokens: 512,
    maxPositions: 512,
    chunk: 64,
    done: new Map(),
    stopRequested: () => false,
    ...changes,
  };
  const rows: ReplyRow[] = [];
  for await (const batch of generateReplies(parts, asked)) rows.push(...batch);
  return rows.sort((a, b) => a.index - b.index || a.sample - b.sample);
}

const timeless = (rows: readonly ReplyRow[]) => rows.map(({ seconds: _, ...row }) => row);

test('neither the size of a batch nor that of a chunk changes a reply', async () => {
  const whole = await replies();
  assert.equal(whole.length, 21);
  assert.ok(new Set(whole.map(({ text }) => text)).size > 15);
  assert.ok(whole.some(({ confidence }) => confidence !== null));
  const sampling = { seed: 9n, temperature: 1, topP: 0.95, topK: 0, eosIds: model.folder.eosIds };
  for (const [chunk, maxBatch, microBatchTokens] of [
    [1, 1, 64],
    [5, 3, 4096],
    [9, 64, 128],
  ] as const) {
    const other = await replies({
      chunk,
      microBatchTokens,
      sampling: { ...sampling, stops: ['</answer>'], maxBatch },
    });
    assert.deepEqual(timeless(other), timeless(whole), `chunk ${chunk}, batch ${maxBatch}`);
  }
});

test('a question alone has the replies it has among others', async () => {
  const whole = await replies();
  const alone = await replies({}, prepared.slice(4, 5));
  assert.deepEqual(timeless(alone), timeless(whole.filter(({ index }) => index === 4)));
});

test('replies that are there are not sampled again, and the others are what they would have been', async () => {
  const whole = await replies();
  const done = new Map([
    [0, 3],
    [1, 1],
    [5, 2],
  ]);
  const rest = await replies({ done });
  assert.deepEqual(
    timeless(rest),
    timeless(whole.filter(({ index, sample }) => sample >= (done.get(index) ?? 0))),
  );
});

test('where positions end, a reply has the room its own prompt leaves, whatever the others are', async () => {
  const { prepared: tight } = await prepare(480);
  for (const { maxTokens, promptIds } of tight) {
    const left = 512 - promptIds.length;
    assert.equal(maxTokens, left >= 480 ? 480 : left - (left % 32));
  }
  const { prepared: none, dropped } = await prepare(24, 30);
  assert.ok(none.length > 0 && none.length < items.length);
  assert.deepEqual(Object.keys(dropped), ["prompts that fill the model's 30 positions"]);
});
