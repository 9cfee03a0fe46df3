/** Model folders: what loads, what is refused, and what the refusal says. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseConfig } from '../../src/model/config.js';
import { loadModelFolder, readModelFolder } from '../../src/model/folder.js';
import { parameterList } from '../../src/model/parameters.js';
import {
  composeSafetensorsHeader,
  headerLength,
  readSafetensorsHeader,
} from '../../src/model/safetensors.js';
import { openTokenizer } from '../../src/text/tokenizer.js';
import { scratch } from '../scratch.js';

const root = scratch('model');
let count = 0;

const CONFIG = {
  architectures: ['Qwen2ForCausalLM'],
  hidden_size: 8,
  intermediate_size: 6,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  vocab_size: 10,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  hidden_act: 'silu',
  tie_word_embeddings: true,
  eos_token_id: 3,
};

type Tensor = { name: string; dtype: 'f32' | 'bf16'; shape: number[] };

const parametersOf = (config: object): Tensor[] =>
  parameterList(parseConfig({ ...config }, 'config.json').spec).map((p) => ({ ...p, dtype: 'f32' as const }));

/** A safetensors file whose numbers are 0, 1, 2, … bytes. */
function tensorFile(tensors: Tensor[]): Buffer {
  const header = composeSafetensorsHeader(tensors);
  const bytes = tensors.reduce(
    (sum, t) => sum + t.shape.reduce((a, b) => a * b, t.dtype === 'f32' ? 4 : 2),
    0,
  );
  const data = Buffer.from(Array.from({ length: bytes }, (_, i) => i % 251));
  return Buffer.concat([headerLength(header.length), header, data]);
}

function rawFile(header: string, data = Buffer.alloc(0)): Buffer {
  return Buffer.concat([headerLength(Buffer.byteLength(header)), Buffer.from(header), data]);
}

function folderOf(files: Record<string, object | Buffer>): string {
  const folder = join(root, String(count++));
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), Buffer.isBuffer(content) ? content : JSON.stringify(content));
  }
  return folder;
}

const model = (config: object = CONFIG, tensors = parametersOf(config)): string =>
  folderOf({ 'config.json': config, 'model.safetensors': tensorFile(tensors) });

describe('a model folder', () => {
  test('loads with every parameter in the order of parameterList, whatever the order in the file', async () => {
    const tensors = parametersOf(CONFIG);
    const { spec, tensors: sources, eosIds } = await readModelFolder(model(CONFIG, [...tensors].reverse()));
    assert.deepEqual(
      sources.map(({ name }) => name),
      tensors.map(({ name }) => name),
    );
    assert.equal(spec.qkvBias, true);
    assert.deepEqual(eosIds, [3]);
    const [norm, before] = [sources.at(-1), sources.at(-2)];
    assert.equal(before?.offset, (norm?.offset ?? 0) + 8 * 4);
    assert.equal(sources.length, 1 + 12 + 1);
  });

  test('end-of-text ids are the union of config and generation config, as number or list (T21)', async () => {
    const folder = model({ ...CONFIG, eos_token_id: [9, 3] });
    writeFileSync(join(folder, 'generation_config.json'), '{"eos_token_id": 7}');
    assert.deepEqual((await readModelFolder(folder)).eosIds, [3, 7, 9]);
  });

  test('a tied head has an alias; an equal stored copy is noted; a different one is refused (K01, K05)', async () => {
    const { aliases, notes } = await readModelFolder(model());
    assert.deepEqual(aliases, { 'lm_head.weight': 'model.embed_tokens.weight' });
    assert.deepEqual(notes, []);

    const head: Tensor = { name: 'lm_head.weight', dtype: 'f32', shape: [10, 8] };
    const folder = model(CONFIG, [head, ...parametersOf(CONFIG)]);
    await assert.rejects(readModelFolder(folder), { code: 'VF_MODEL_WEIGHTS', message: /ties the head/ });

    const file = readFileSync(join(folder, 'model.safetensors'));
    const start = 8 + Number(file.readBigUInt64LE());
    file.copy(file, start + 320, start, start + 320);
    writeFileSync(join(folder, 'model.safetensors'), file);
    const same = await readModelFolder(folder);
    assert.equal(same.tensors.length, 14);
    assert.match(same.notes.join(), /lm_head\.weight repeats/);
  });

  test('missing, extra and misshaped tensors are named', async () => {
    const tensors = parametersOf(CONFIG);
    const rejects = (changed: Tensor[], message: RegExp) =>
      assert.rejects(readModelFolder(model(CONFIG, changed)), { code: 'VF_MODEL_WEIGHTS', message });
    await rejects(tensors.slice(1), /1 tensors are missing: model\.embed_tokens\.weight/);
    await rejects(
      [...tensors, { name: 'model.extra', dtype: 'f32', shape: [1] }],
      /unknown to the config: model\.extra/,
    );
    await rejects(
      tensors.map((t) => (t.name === 'model.norm.weight' ? { ...t, shape: [9] } : t)),
      /model\.norm\.weight has shape \[9\], the config says \[8\]/,
    );
    const untied = { ...CONFIG, tie_word_embeddings: false };
    await assert.rejects(readModelFolder(model(untied, tensors)), { message: /missing: lm_head\.weight/ });
  });

  test('old rotary buffers are noted, not refused', async () => {
    const buffer: Tensor = { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', dtype: 'f32', shape: [2] };
    const { notes } = await readModelFolder(model(CONFIG, [...parametersOf(CONFIG), buffer]));
    assert.match(notes.join(), /1 stored buffers are not used/);
  });

  test('a folder without config or weights says what it needs', async () => {
    await assert.rejects(readModelFolder(folderOf({})), { code: 'VF_MODEL_FILE', message: /config\.json/ });
    await assert.rejects(readModelFolder(folderOf({ 'config.json': CONFIG })), {
      message: /model\.safetensors/,
    });
    const pickled = folderOf({ 'config.json': CONFIG, 'pytorch_model.bin': Buffer.alloc(1) });
    await assert.rejects(readModelFolder(pickled), { hint: /pytorch_model\.bin/ });
  });
});

describe('shards', () => {
  const tensors = parametersOf(CONFIG);
  const [one, two] = [tensors.slice(0, 5), tensors.slice(5)];
  const index = (...pairs: [Tensor[], string][]) => ({
    weight_map: Object.fromEntries(pairs.flatMap(([list, file]) => list.map((t) => [t.name, file]))),
  });
  const sharded = (weights: object, files: Record<string, Buffer>): string =>
    folderOf({ 'config.json': CONFIG, 'model.safetensors.index.json': weights, ...files });

  test('load together', async () => {
    const folder = sharded(index([one, 'a.safetensors'], [two, 'b.safetensors']), {
      'a.safetensors': tensorFile(one),
      'b.safetensors': tensorFile(two),
    });
    const { tensors: sources } = await readModelFolder(folder);
    assert.equal(sources[4]?.file, join(folder, 'a.safetensors'));
    assert.equal(sources[5]?.file, join(folder, 'b.safetensors'));
  });

  test('missing files are listed before weights are read (K12)', async () => {
    const folder = sharded(index([one, 'a.safetensors'], [two, 'b.safetensors']), {
      'a.safetensors': tensorFile(one),
    });
    await assert.rejects(readModelFolder(folder), {
      message: /1 of its 2 shards are not there: b\.safetensors/,
    });
  });

  test('an index that names only part of the model is refused by the missing parameters (K14)', async () => {
    const folder = sharded(index([one, 'a.safetensors']), {
      'a.safetensors': tensorFile(one),
      'b.safetensors': tensorFile(two),
    });
    await assert.rejects(readModelFolder(folder), { message: /9 tensors are missing: .* and 4 more/ });
  });

  test('an index that disagrees with its shards is refused, as are tensors that stand twice', async () => {
    const wrong = sharded(index([tensors, 'a.safetensors']), { 'a.safetensors': tensorFile(one) });
    await assert.rejects(readModelFolder(wrong), { message: /a\.safetensors, which does not hold it/ });
    const twice = sharded(index([one, 'a.safetensors'], [two, 'b.safetensors']), {
      'a.safetensors': tensorFile(one),
      'b.safetensors': tensorFile([...two, one[0] as Tensor]),
    });
    await assert.rejects(readModelFolder(twice), { message: /model\.embed_tokens\.weight stands twice/ });
    const outside = sharded({ weight_map: { x: '../b.safetensors' } }, {});
    await assert.rejects(readModelFolder(outside), { message: /not in a file beside it/ });
  });
});

describe('a safetensors file', () => {
  const file = (bytes: Buffer): string => join(folderOf({ 'x.safetensors': bytes }), 'x.safetensors');
  const rejects = (bytes: Buffer, message: RegExp) =>
    assert.rejects(readSafetensorsHeader(file(bytes)), { code: 'VF_SAFETENSORS', message });
  const good = tensorFile([{ name: 'a', dtype: 'f32', shape: [300] }]);

  test('that is cut says how many bytes are missing (K09)', async () => {
    const path = file(good);
    truncateSync(path, good.length - 1024);
    const sizes = `expected ${good.length} bytes, found ${good.length - 1024}`;
    await assert.rejects(readSafetensorsHeader(path), {
      message: `file x.safetensors: ${sizes} (interrupted copy?)`,
    });
    await rejects(good.subarray(0, 5), /expected 8 bytes, found 5/);
    await rejects(good.subarray(0, 20), /found 20/);
    await rejects(Buffer.alloc(0), /expected 8 bytes, found 0/);
  });

  test('that is something else, or has a bogus length, is refused without a large allocation (K09)', async () => {
    await rejects(Buffer.from('<!DOCTYPE html><html></html>'), /no safetensors file/);
    await rejects(
      Buffer.concat([headerLength(90_000_000), Buffer.alloc(100)]),
      /expected 90000008 bytes, found 108/,
    );
    await rejects(rawFile('[1]     '), /does not begin with \{/);
  });

  test('with trailing bytes, gaps or overlaps is refused (K10)', async () => {
    await rejects(Buffer.concat([good, Buffer.alloc(16)]), /not fully covered: 16 bytes/);
    const two = (start: number) =>
      rawFile(
        JSON.stringify({
          a: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
          b: { dtype: 'F32', shape: [1], data_offsets: [start, start + 4] },
        }),
        Buffer.alloc(start + 4),
      );
    await rejects(two(6), /2 bytes between a and b belong to no tensor/);
    await rejects(two(2), /b overlaps a/);
    assert.equal((await readSafetensorsHeader(file(two(4)))).tensors.length, 2);
  });

  test('whose ranges do not fit shapes and types is refused', async () => {
    const entry = (value: object) => rawFile(JSON.stringify({ a: value }), Buffer.alloc(4));
    await rejects(entry({ dtype: 'F32', shape: [2], data_offsets: [0, 4] }), /= 8 bytes but its range has 4/);
    await rejects(entry({ dtype: 'Q4', shape: [2], data_offsets: [0, 4] }), /unknown dtype Q4/);
    await rejects(entry({ dtype: 'F32', shape: [-1], data_offsets: [0, 4] }), /no dtype, shape/);
    await rejects(entry({ dtype: 'F32', shape: [1], data_offsets: [4, 0] }), /range has -4/);
  });

  test('may have a header of any length, and no tensors at all (K11)', async () => {
    for (const length of [99_994, 100_000, 100_008]) {
      const bare = JSON.stringify({ __metadata__: { pad: '' } });
      const header = JSON.stringify({ __metadata__: { pad: 'x'.repeat(length - bare.length) } });
      assert.equal(header.length, length);
      const read = await readSafetensorsHeader(file(rawFile(header)));
      assert.equal(read.tensors.length, 0);
      assert.equal(read.metadata.pad?.length, length - bare.length);
    }
  });

  test('as composed has data on a multiple of 8 and says that it is for transformers', async () => {
    const tensors: Tensor[] = [
      { name: 'a', dtype: 'bf16', shape: [3] },
      { name: 'scalar', dtype: 'f32', shape: [] },
    ];
    const header = composeSafetensorsHeader(tensors, { step: '7' });
    assert.equal(header.length % 8, 0);
    const read = await readSafetensorsHeader(file(tensorFile(tensors)));
    assert.deepEqual(read.metadata, { format: 'pt' });
    assert.deepEqual(
      read.tensors.map(({ name, dtype, bytes }) => [name, dtype, bytes]),
      [
        ['a', 'BF16', 6],
        ['scalar', 'F32', 4],
      ],
    );
  });
});

describe('the real model stories260k', {
  skip: !existsSync('../shared/models/stories260k') && 'shared models are absent',
}, () => {
  test('has everything that the engine needs', async () => {
    const loaded = await loadModelFolder('../shared/models/stories260k', openTokenizer);
    assert.equal(loaded.tensors.length, 47);
    assert.deepEqual(loaded.eosIds, [2]);
    assert.equal(loaded.usableVocab, 512);
    assert.equal(loaded.tokenOffsets[512], loaded.tokenBytes.length);
    assert.equal(loaded.tokenizer.bosId, 1);
  });
});
