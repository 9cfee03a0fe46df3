/** The memory plan: bytes a parameter, phases that share memory, and what to say when a model does not fit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../src/model/config.js';
import { type MemoryNeeds, memoryPlan, whatFits } from '../../src/model/estimate.js';
import { parameterCount } from '../../src/model/parameters.js';
import { type ShapeName, shapeConfig } from '../../src/model/shapes.js';

function needs(shape: ShapeName, more: Partial<MemoryNeeds> = {}): MemoryNeeds {
  return {
    spec: parseConfig(shapeConfig(shape, undefined, 'bf16'), 'config.json').spec,
    device: 'cuda',
    dtype: 'bf16',
    microBatchTokens: 4096,
    maxBatch: 64,
    promptTokens: 256,
    maxTokens: 1024,
    recompute: false,
    trainable: true,
    ...more,
  };
}

const bytes = (plan: ReturnType<typeof memoryPlan>, name: string) =>
  plan.rows.find((row) => row.name.startsWith(name))?.bytes ?? 0;

test('training takes 16 bytes a parameter and 2 more for bf16 products', () => {
  const plan = memoryPlan(needs('qwen3-0.6b'));
  const parameters = parameterCount(needs('qwen3-0.6b').spec);
  assert.equal(parameters, 596049920);
  const state = bytes(plan, 'weights (f32)') + bytes(plan, 'gradients (f32)') + bytes(plan, 'AdamW');
  assert.equal(state, 16 * parameters);
  const copies = bytes(plan, 'weights for products');
  assert.ok(copies > 1.99 * parameters && copies <= 2 * parameters);
});

test('keys and values count in sampling, activations in training, and only the larger of the two', () => {
  const plan = memoryPlan(needs('qwen3-0.6b'));
  // 64 sequences of 1,280 tokens are above the budget of one call
  assert.equal(bytes(plan, 'keys and values'), 4e9);
  const always = plan.rows.filter((row) => row.during === 'always').reduce((sum, row) => sum + row.bytes, 0);
  const training = plan.rows
    .filter((row) => row.during === 'training')
    .reduce((sum, row) => sum + row.bytes, 0);
  assert.equal(plan.total, always + Math.max(4e9, training));
});

test('a token of Qwen3-0.6B keeps 114,688 bytes of keys and values on a GPU in bf16, twice that in f32', () => {
  const one = { maxBatch: 1, promptTokens: 0, maxTokens: 1 };
  const store = (more: Partial<MemoryNeeds>) =>
    bytes(memoryPlan(needs('qwen3-0.6b', { ...one, ...more })), 'keys and values');
  assert.equal(store({}), 114688);
  assert.equal(store({ dtype: 'f32' }), 229376);
  assert.equal(store({ device: 'cpu' }), 229376);
  const layers = (dtype: MemoryNeeds['dtype']) =>
    bytes(memoryPlan(needs('qwen3-0.6b', { dtype, microBatchTokens: 1 })), 'activations');
  assert.equal(layers('f32') - layers('bf16'), 114688);
});

test('recompute keeps layer inputs only', () => {
  const plain = memoryPlan(needs('qwen3-0.6b')).total;
  const recompute = memoryPlan(needs('qwen3-0.6b', { recompute: true })).total;
  assert.ok(recompute < plain - 5e9, `${recompute} is not far below ${plain}`);
});

test('an 8B model does not fit 80 GB whatever the micro-batch; a 1.7B model does', () => {
  assert.equal(whatFits(needs('qwen3-8b'), 80e9), null);
  assert.deepEqual(whatFits(needs('qwen3-1.7b'), 80e9), { microBatchTokens: 4096, recompute: false });
});

test('a smaller micro-batch is named before recompute', () => {
  const wanted = needs('qwen3-0.6b', { microBatchTokens: 16384 });
  const fit = whatFits(wanted, 24e9);
  assert.ok(fit !== null && fit.microBatchTokens < 16384);
  assert.ok(memoryPlan({ ...wanted, ...fit }).total <= 24e9);
});

test('an inference policy holds neither gradients nor moments', () => {
  const plan = memoryPlan(needs('qwen3-0.6b', { trainable: false }));
  assert.equal(bytes(plan, 'gradients (f32)') + bytes(plan, 'AdamW') + bytes(plan, 'activations'), 0);
});
