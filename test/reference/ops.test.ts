/** The float64 ops are checked by finite differences and by a few numbers worked out by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attention, attentionBackward } from './attention.js';
import { differences, dot, nmse } from './compare.js';
import { embed, embedBackward, linear, linearBackward } from './linear.js';
import { entropyOf, logprobBackward, logSoftmax } from './logprob.js';
import { rmsNorm, rmsNormBackward } from './rms-norm.js';
import { ropeFrequencies, rotate } from './rope.js';
import { normals, seeded } from './seeded.js';
import { swiglu, swigluBackward } from './swiglu.js';

/** Each gradient against central differences of `f`, to relative 1e-8. */
function close(f: () => number, pairs: [Float64Array, Float64Array][]): void {
  for (const [x, gradient] of pairs) {
    const error = nmse(gradient, differences(f, x));
    assert.ok(error < 1e-16, `relative error ${Math.sqrt(error)}`);
  }
}

test('embedding, linear and RMSNorm have the gradients of their finite differences', () => {
  const random = seeded(1);
  const table = normals(random, 5 * 3);
  const ids = [4, 0, 4];
  const c = normals(random, 9);
  const dtable = new Float64Array(15);
  embedBackward(ids, c, dtable, 3);
  close(() => dot(embed(ids, table, 3), c), [[table, dtable]]);

  const shape = { rows: 4, in: 3, out: 5 };
  const x = normals(random, 12);
  const w = normals(random, 15);
  const b = normals(random, 5);
  const dy = normals(random, 20);
  const g = linearBackward(shape, x, w, dy);
  close(
    () => dot(linear(shape, x, w, b), dy),
    [
      [x, g.dx],
      [w, g.dw],
      [b, g.dbias],
    ],
  );

  const weight = normals(random, 4);
  const dnorm = normals(random, 12);
  const n = rmsNormBackward(x, weight, 0.01, dnorm);
  close(
    () => dot(rmsNorm(x, weight, 0.01), dnorm),
    [
      [x, n.dx],
      [weight, n.dweight],
    ],
  );
});

test('RMSNorm of (3, 4) with eps 0 and weight (1, 2)', () => {
  const y = rmsNorm(Float64Array.of(3, 4), Float64Array.of(1, 2), 0);
  assert.ok(nmse(y, [3 / Math.sqrt(12.5), 8 / Math.sqrt(12.5)]) < 1e-30);
});

test('causal grouped-query attention has the gradients of its finite differences', () => {
  const random = seeded(2);
  const shape = { rows: 5, heads: 4, kvHeads: 2, headDim: 6 };
  const q = normals(random, 5 * 24);
  const k = normals(random, 5 * 12);
  const v = normals(random, 5 * 12);
  const dout = normals(random, 5 * 24);
  const g = attentionBackward(shape, q, k, v, attention(shape, q, k, v).probs, dout);
  close(
    () => dot(attention(shape, q, k, v).out, dout),
    [
      [q, g.dq],
      [k, g.dk],
      [v, g.dv],
    ],
  );
});

test('attention sees no later key, and the first row returns the first value of its key head', () => {
  const random = seeded(3);
  const shape = { rows: 3, heads: 2, kvHeads: 1, headDim: 2 };
  const q = normals(random, 12);
  const k = normals(random, 6);
  const v = normals(random, 6);
  const before = attention(shape, q, k, v).out;
  assert.deepEqual([...before.subarray(0, 4)], [v[0], v[1], v[0], v[1]]);
  k[4] = 9;
  v[5] = 9;
  assert.deepEqual(attention(shape, q, k, v).out.subarray(0, 8), before.subarray(0, 8));
});

test('SwiGLU and the log-prob under the head have the gradients of their finite differences', () => {
  const random = seeded(4);
  const gate = normals(random, 7, 2);
  const up = normals(random, 7);
  const dy = normals(random, 7);
  const g = swigluBackward(gate, up, dy);
  close(
    () => dot(swiglu(gate, up), dy),
    [
      [gate, g.dgate],
      [up, g.dup],
    ],
  );

  const x = normals(random, 4);
  const head = normals(random, 6 * 4);
  const dx = new Float64Array(4);
  const dhead = new Float64Array(24);
  const of = () => logSoftmax(x, head, 5, 0.7);
  logprobBackward({ x, head, logSoftmaxed: of(), target: 3, weight: 1.5, temperature: 0.7, dx, dhead });
  close(
    () => 1.5 * of()[3]!,
    [
      [x, dx],
      [head, dhead],
    ],
  );
  assert.deepEqual([...dhead.subarray(20)], [0, 0, 0, 0], 'a padding row of the head is outside the softmax');
});

test('equal logits give log-prob -log n and entropy log n', () => {
  const lp = logSoftmax(Float64Array.of(1), Float64Array.of(2, 2, 2, 2), 4, 0.5);
  assert.ok(
    nmse(
      lp,
      [1, 1, 1, 1].map(() => -Math.log(4)),
    ) < 1e-30,
  );
  assert.ok(Math.abs(entropyOf(lp) - Math.log(4)) < 1e-15);
});

test('rotation turns halves by position * frequency, and back', () => {
  const frequencies = ropeFrequencies({ headDim: 4, ropeTheta: 100, ropeScaling: { kind: 'none' } });
  assert.ok(nmse(frequencies, [1, 0.1]) < 1e-30);
  const y = rotate(Float64Array.of(5, 6, 7, 8, 1, 1, 0, 0), 2, frequencies, 1);
  const expected = [5, 6, 7, 8, Math.cos(1), Math.cos(0.1), Math.sin(1), Math.sin(0.1)];
  assert.ok(nmse(y, expected) < 1e-30);
  const random = seeded(5);
  const x = normals(random, 3 * 8);
  assert.ok(nmse(rotate(rotate(x, 3, frequencies, 1), 3, frequencies, -1), x) < 1e-30);
});

test('linear scaling divides every frequency, llama3 scaling keeps fast ones and divides slow ones', () => {
  const at = { headDim: 8, ropeTheta: 10000 };
  const linearly = ropeFrequencies({ ...at, ropeScaling: { kind: 'linear', factor: 4 } });
  assert.ok(nmse(linearly, [0.25, 0.025, 0.0025, 0.00025]) < 1e-30);
  const scaled = ropeFrequencies({
    ...at,
    ropeScaling: { kind: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalPositions: 128 },
  });
  // 128 positions turn 20.37, 2.037, 0.2037 and 0.02037 times; the second lies (2.037 - 1) / 3 of the way.
  const keep = (12.8 / (2 * Math.PI) - 1) / 3;
  assert.ok(nmse(scaled, [1, 0.1 * keep + 0.0125 * (1 - keep), 0.00125, 0.000125]) < 1e-28);
});
