/** A real model: stories260K writes its story to the letter, also after a save and reload. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { loadModelFolder } from '../../src/model/folder.js';
import { saveModelFolder } from '../../src/model/save.js';
import { Policy } from '../../src/native/policy.js';
import { openTokenizer } from '../../src/text/tokenizer.js';
import { scratch } from '../scratch.js';
import { sampleArgs } from './sampling.js';

const folder = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'models', 'stories260k');
const skip = existsSync(folder) ? false : `no ${folder}: put the stories260K model folder there`;
const out = scratch('stories');

async function story(place: string, saveTo?: string): Promise<string> {
  const { spec, tensors, tokenBytes, tokenOffsets, usableVocab, tokenizer } = await loadModelFolder(
    place,
    openTokenizer,
  );
  const policy = await Policy.load({
    spec,
    tensors,
    tokenBytes,
    tokenOffsets,
    usableVocab,
    device: 'cpu',
    dtype: 'f32',
    threads: 2,
    isa: '',
    trainable: false,
  });
  const { tokens } = await policy.sample(sampleArgs([[1]], { maxTokens: 256, temperature: 0 }));
  assert.deepEqual([...tokens.ids.subarray(0, 4)], [403, 407, 261, 378]);
  if (saveTo !== undefined) await saveModelFolder(policy, spec, place, saveTo, 'f32');
  await policy.close();
  return tokenizer.decode(tokens.ids, { start: true });
}

test('256 greedy tokens are the expected story, and the saved copy tells the same', { skip }, async () => {
  const expected = readFileSync(path.join(folder, 'expected_greedy.txt'), 'utf8')
    .replace(/^ /, '')
    .replace(/\n$/, '');
  assert.equal(await story(folder, out), expected);
  assert.equal(await story(out), expected);
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'config.json', 'model.safetensors']) {
    const [saved, original] = [out, folder].map((place) => readFileSync(path.join(place, name)));
    if (name !== 'model.safetensors') assert.ok(saved!.equals(original!), `${name} is byte-identical`);
    else assert.equal(saved!.length > 1_000_000, true);
  }
});
