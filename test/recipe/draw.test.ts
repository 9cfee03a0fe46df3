/** The recipes' draws: known answers of the generator, and independence of rows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draw } from '../../src/recipe/draw.js';

const words = (seed: number, stream: number, row: number): number[] => {
  const draws = draw(seed, stream, row);
  return Array.from({ length: 4 }, () => Math.round(draws.unit() * 4294967296));
};

test('the generator gives Philox 4x32-10 of the zero and the all-ones key', () => {
  assert.deepEqual(words(0, 0, 0), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
});

test('a row depends on its own index alone', () => {
  const first = draw(5, 2, 7);
  for (let i = 0; i < 100; i++) first.unit();
  assert.deepEqual(words(5, 2, 8), words(5, 2, 8));
  assert.notDeepEqual(words(5, 2, 8), words(5, 2, 9));
  assert.notDeepEqual(words(5, 2, 8), words(5, 3, 8));
  assert.notDeepEqual(words(5, 2, 8), words(6, 2, 8));
});

test('whole numbers reach both ends evenly and a sample repeats nothing', () => {
  const counts = [0, 0, 0];
  for (let row = 0; row < 3000; row++) counts[draw(1, 1, row).int(4, 6) - 4]!++;
  for (const count of counts) assert.ok(count > 900 && count < 1100, String(counts));
  const sample = draw(1, 1, 1).sample([1, 2, 3, 4, 5], 5);
  assert.deepEqual([...sample].sort(), [1, 2, 3, 4, 5]);
});
