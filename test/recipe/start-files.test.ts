/** The folder a warm-up begins with: a readable model whose bytes depend on the seed alone. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadModelFolder } from '../../src/model/folder.js';
import { parameterCount } from '../../src/model/parameters.js';
import { recipeByName } from '../../src/recipe/recipes.js';
import { startFiles } from '../../src/recipe/start-files.js';
import { resolveTemplate } from '../../src/text/template.js';
import { openTokenizer } from '../../src/text/tokenizer.js';
import { scratch } from '../scratch.js';

for (const name of ['tiny', 'tiny-t3rl']) {
  test(`${name}: the folder loads, is below 3 MB and speaks the tiny template`, async () => {
    const folder = scratch('start');
    let bytes = 0;
    for (const [file, contents] of Object.entries(startFiles(recipeByName(name), 1))) {
      writeFileSync(join(folder, file), contents);
      bytes += contents.length;
    }
    const model = await loadModelFolder(folder, openTokenizer);
    const template = await resolveTemplate(model.tokenizer, { stated: model.vf });
    assert.ok(bytes < 3_000_000, `${bytes} bytes`);
    assert.ok(parameterCount(model.spec) > 350_000 && parameterCount(model.spec) < 500_000);
    assert.equal(template.name, 'tiny');
    assert.deepEqual(model.eosIds, [model.tokenizer.addedId('<|endoftext|>')]);
    assert.equal(model.usableVocab, model.spec.vocab);
  });
}

test('weights have the recipe’s deviations and depend on the seed', () => {
  const weights = (seed: number): Buffer =>
    startFiles(recipeByName('tiny'), seed)['model.safetensors'] as Buffer;
  const first = weights(1);
  assert.deepEqual(first, weights(1));
  assert.notDeepEqual(first, weights(2));
  const start = 8 + Number(first.readBigUInt64LE());
  const header = JSON.parse(first.subarray(8, start).toString()) as Record<
    string,
    { data_offsets: [number, number] }
  >;
  const deviation = (name: string): number => {
    const [from, to] = header[name]!.data_offsets;
    let squares = 0;
    for (let at = start + from; at < start + to; at += 4) squares += first.readFloatLE(at) ** 2;
    return Math.sqrt((4 * squares) / (to - from));
  };
  const near = (value: number, expected: number): void =>
    assert.ok(Math.abs(value / expected - 1) < 0.03, `${value} is not near ${expected}`);
  near(deviation('model.embed_tokens.weight'), 0.1);
  near(deviation('model.layers.0.mlp.up_proj.weight'), 1 / Math.sqrt(96));
  near(deviation('model.layers.0.self_attn.o_proj.weight'), 0.1 / Math.sqrt(128));
  assert.equal(deviation('model.norm.weight'), 1);
});
