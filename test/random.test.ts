/** The generator against the published vectors and the engine's own figures. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { highProduct, keyOf, philox, toUnit, uniformAt } from '../src/random.js';

test('Philox 4x32-10 gives the published vectors', () => {
  const words = new Uint32Array(4);
  const run = (seed: bigint, ...counter: [number, number, number, number]): string => {
    philox(keyOf(seed), ...counter, words);
    return [...words].map((word) => word.toString(16).padStart(8, '0')).join(' ');
  };
  assert.equal(run(0n, 0, 0, 0, 0), '6627e8d5 e169c58d bc57ac4c 9b00dbd8');
  const ones = 0xffffffff;
  assert.equal(run(0xffffffffffffffffn, ones, ones, ones, ones), '408f276d 41c83b0e a20bc7c6 6d5451fd');
  assert.equal(
    run(0x299f31d0a4093822n, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
    'd16cfe09 94fdcceb 5001e420 24126ea1',
  );
});

test('the upper word of a product is exact, at the ends of the range and anywhere in it', () => {
  const exact = (a: number, b: number): number => Number((BigInt(a) * BigInt(b)) >> 32n);
  assert.equal(highProduct(0xffffffff, 0xffffffff) >>> 0, 0xfffffffe);
  assert.equal(highProduct(0xd2511f53, 0x80000000) >>> 0, 0x69288fa9);
  assert.equal(highProduct(0x10000, 0x10000), 1);
  assert.equal(highProduct(0xffff, 0x10001), 0);
  const edges = [0, 1, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffff0000, 0xffffffff];
  for (const a of edges) for (const b of edges) assert.equal(highProduct(a, b) >>> 0, exact(a, b));
  const words = new Uint32Array(4);
  for (let i = 0; i < 5000; i++) {
    philox(keyOf(7), i, 0, 0, 0, words);
    const [a, b] = [words[0]!, words[1]!];
    assert.equal(highProduct(a, b) >>> 0, exact(a, b));
    assert.equal(highProduct(a | 0, b | 0) >>> 0, exact(a, b), 'signed words are the same words');
  }
});

test('uniform numbers are those of native/core/rng.h', () => {
  const stream = (seed: bigint, purpose: number, step: number, occurrence: number, sample: number) => ({
    ...{ seed, purpose, step, occurrence, sample },
  });
  assert.equal(uniformAt(stream(1n, 0, 0, 0, 0), 0), 0.89025917297571067);
  assert.equal(uniformAt(stream(0x123456789abcdef0n, 3, 1234567, 89, 7), 4242), 0.44042329071233322);
  const last = stream(0xffffffffffffffffn, 4, 0x0fffffff, 0xffffffff, 0xffffffff);
  assert.equal(uniformAt(last, 0xffffffff), 0.11948896831490863);
});

test('no uniform number is 0 or 1', () => {
  assert.ok(toUnit(0, 0) > 0);
  assert.ok(toUnit(0xffffffff, 0xffffffff) < 1);
});
