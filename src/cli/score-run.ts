/** `vf score FILE`: log-probs of stored ids (or, where no ids are stored, of texts) by the training forward. */

import type { CommandSettings } from '../config/schema.js';
import { type Row, readRows } from '../data/rows.js';
import { VfError } from '../errors.js';
import { SPAN_ROLE } from '../native/types.js';
import { ragged } from '../rollout/sample.js';
import { DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import { type OpenModel, openModel } from './open-model.js';
import { writeOut } from './output.js';

interface Scored {
  line: number;
  ids: Int32Array;
  /** First scored token; at least 1. */
  from: number;
  source: 'ids' | 'text';
}

/** Rows scored together; bounds memory, changes no number. */
const BATCH = 64;

/** Prints one object a row, in order. */
export async function runScore(file: string, settings: CommandSettings<'score'>): Promise<void> {
  if (settings.temperature === 0) {
    throw new VfError('VF_INVALID_VALUE', 'Expected a temperature above 0 for vf score but received 0');
  }
  const model = await openModel(settings, { trainable: false });
  let batch: Scored[] = [];
  for await (const row of readRows(file)) {
    batch.push(await readRow(row, model));
    if (batch.length === BATCH) {
      await scoreBatch(batch, model, settings);
      batch = [];
    }
  }
  if (batch.length > 0) await scoreBatch(batch, model, settings);
  await model.policy.close();
}

async function readRow({ value, file, line, text }: Row, model: OpenModel): Promise<Scored> {
  const refuse = (message: string, expected: string) =>
    new VfError('VF_DATA', `row ${line}: ${message}`, { file, line, text, expected });
  const { ids, prompt, completion, logprobs } = value;
  if (Array.isArray(ids)) {
    const numbers = ids as number[];
    const bad = numbers.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= model.folder.usableVocab);
    if (bad >= 0)
      throw refuse(
        `id ${String(ids[bad])} is no token of this model`,
        `ids below ${model.folder.usableVocab}`,
      );
    if (Array.isArray(logprobs) && logprobs.length !== ids.length) {
      throw refuse(`${ids.length} ids, ${logprobs.length} logprobs`, 'as many logprobs as ids');
    }
    const from = value.from === undefined ? 1 : Number(value.from);
    if (!Number.isInteger(from) || from < 1 || from >= numbers.length) {
      throw refuse(
        `"from" is ${String(value.from ?? 1)} for ${numbers.length} ids`,
        'an index from 1 to below the number of ids',
      );
    }
    return { line, ids: Int32Array.from(numbers), from, source: 'ids' };
  }
  if (typeof prompt === 'string' && typeof completion === 'string') {
    const [head] = await model.tokenizer.encodePrompts([[{ literal: prompt }]]);
    const [tail] = await model.tokenizer.encodeParts([[{ literal: completion }]]);
    if (head!.length === 0 || tail!.length === 0)
      throw refuse('prompt or completion is empty', 'at least one token each');
    const joined = new Int32Array(head!.length + tail!.length);
    joined.set(head!);
    joined.set(tail!, head!.length);
    return { line, ids: joined, from: head!.length, source: 'text' };
  }
  throw refuse(
    'neither ids nor prompt and completion',
    '{"ids": […], "from": n} or {"prompt": "…", "completion": "…"}',
  );
}

async function scoreBatch(
  rows: readonly Scored[],
  model: OpenModel,
  settings: CommandSettings<'score'>,
): Promise<void> {
  const result = await model.policy.score({
    tree: { tokens: ragged(rows.map((row) => row.ids)), parents: new Int32Array(rows.length).fill(-1) },
    spans: Int32Array.from(rows.flatMap((row, i) => [i, row.from, row.ids.length, SPAN_ROLE.reasoning])),
    temperature: settings.temperature,
    entropy: true,
    microBatchTokens: settings.microBatchTokens || DEFAULT_MICRO_BATCH,
  });
  let at = 0;
  for (const { line, ids, from, source } of rows) {
    const count = ids.length - from;
    const logprobs = [...result.logprobs.subarray(at, at + count)];
    const entropy = [...result.entropy.subarray(at, at + count)];
    at += count;
    const logprob = logprobs.reduce((a, b) => a + b, 0);
    const kind = { temperature: settings.temperature, source };
    writeOut(`${JSON.stringify({ line, logprob, tokens: count, logprobs, entropy, ...kind })}\n`);
  }
}
