/** The float64 transformer of each family is checked by finite differences over a forest of shared segments. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PackedTree } from '../../src/native/types.js';
import { differences, dot, nmse } from './compare.js';
import { forestGradient, pathOf, scoreForest } from './forest.js';
import { normals, seeded } from './seeded.js';
import { randomModel, TINY_SPECS } from './specs.js';

// A prompt of 2, two traces under it (2 and 1 tokens), two answers under the first; then a lone root.
const tree: PackedTree = {
  tokens: {
    ids: Int32Array.of(1, 2, 3, 4, 5, 6, 7, 6, 8, 9, 10),
    offsets: Int32Array.of(0, 2, 4, 5, 7, 8, 11),
  },
  parents: Int32Array.of(-1, 0, 0, 1, 1, -1),
};
const spans = Int32Array.of(1, 0, 2, 0, 3, 0, 2, 1, 4, 0, 1, 1, 2, 0, 1, 0, 5, 1, 3, 0);

test('a path is the root, then each child, to the segment', () => {
  assert.deepEqual(pathOf(tree, 3), { tokens: [1, 2, 3, 4, 6, 7], begin: 4 });
  assert.deepEqual(pathOf(tree, 5), { tokens: [8, 9, 10], begin: 0 });
});

for (const spec of [
  TINY_SPECS.qwen3,
  TINY_SPECS.qwen2,
  { ...TINY_SPECS.llama, tied: true },
  { ...TINY_SPECS.llama, ropeScaling: { kind: 'linear', factor: 4 } } as const,
]) {
  const title = `${spec.family}, ${spec.tied ? 'tied' : 'untied'}, ${spec.ropeScaling.kind} scaling`;
  test(`${title}: the gradient of a forest equals finite differences for every tensor`, () => {
    const small = { ...spec, hidden: 6, heads: 2, kvHeads: 1, headDim: 4, ffn: 5, vocab: 13 };
    const model = randomModel(small, 7, 2);
    const weights = normals(seeded(8), 8);
    const gradient = forestGradient(model, tree, spans, 0.7, weights);
    const value = () => dot(scoreForest(model, tree, spans, 0.7).logprobs, weights);
    for (const [name, tensor] of model.weights) {
      const error = nmse(gradient.get(name)!, differences(value, tensor));
      assert.ok(error < 1e-14, `${name}: relative error ${Math.sqrt(error)}`);
    }
  });
}

test('the probabilities of all continuations of a prefix sum to 1', () => {
  const model = randomModel({ ...TINY_SPECS.qwen3, vocab: 11 }, 9);
  let sum = 0;
  for (let v = 0; v < 11; v++) {
    const one = {
      tokens: { ids: Int32Array.of(3, 1, v), offsets: Int32Array.of(0, 2, 3) },
      parents: Int32Array.of(-1, 0),
    };
    sum += Math.exp(scoreForest(model, one, Int32Array.of(1, 0, 1, 0), 0.7).logprobs[0]!);
  }
  assert.ok(Math.abs(sum - 1) < 1e-14);
});
