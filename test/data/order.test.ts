/** The order of questions: seeded, resumable, every question once an epoch. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cursor, makeOrder, permutation } from '../../src/data/order.js';

const indices = (order: ReturnType<typeof makeOrder>, batches: number, size: number): number[][] => {
  let cursor: Cursor = { drawn: 0 };
  return Array.from({ length: batches }, () => {
    const taken = order.take(cursor, size);
    cursor = taken.cursor;
    return taken.draws.map(({ index }) => index);
  });
};

test('each question is drawn once an epoch; a short last batch is filled from the next epoch (D19)', () => {
  const all = indices(makeOrder(10, 7), 5, 4).flat();
  const sorted = (list: number[]) => [...list].sort((a, b) => a - b);
  assert.deepEqual(sorted(all.slice(0, 10)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(sorted(all.slice(10)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.notDeepEqual(all.slice(0, 10), all.slice(10));
});

test('a resumed run draws what an uninterrupted one would (K06)', () => {
  const whole = indices(makeOrder(10, 7), 12, 4);
  const { cursor } = makeOrder(10, 7).take({ drawn: 0 }, 3 * 4);
  const stored = JSON.parse(JSON.stringify(cursor)) as Cursor;
  const rest = makeOrder(10, 7)
    .take(stored, 9 * 4)
    .draws.map(({ index }) => index);
  assert.deepEqual(rest, whole.slice(3).flat());
});

test('occurrences number the draws of the run, so a question drawn twice has two streams', () => {
  const draws = makeOrder(3, 1).at({ drawn: 2 }, 3);
  assert.deepEqual(
    draws.map(({ occurrence, epoch }) => [occurrence, epoch]),
    [
      [2, 0],
      [3, 1],
      [4, 1],
    ],
  );
});

test('seeds and epochs give different orders, the same ones the same', () => {
  const first = [...permutation(100, 1, 0)];
  assert.deepEqual([...permutation(100, 1n, 0)], first);
  assert.notDeepEqual([...permutation(100, 2, 0)], first);
  assert.notDeepEqual([...permutation(100, 1, 1)], first);
  assert.deepEqual([...permutation(8, 42, 0)], PINNED);
  assert.deepEqual([...permutation(1, 42, 0)], [0]);
});

/** The order that checkpoints of seed 42 rely on. */
const PINNED = [6, 1, 5, 4, 0, 7, 2, 3];

test('places are spread evenly', () => {
  const counts = new Array<number>(5).fill(0);
  for (let epoch = 0; epoch < 2000; epoch++) {
    const first = permutation(5, 3, epoch)[0] as number;
    counts[first] = (counts[first] as number) + 1;
  }
  for (const count of counts) assert.ok(Math.abs(count - 400) < 80, String(counts));
});

test('without shuffling the order is the file, and an empty set is refused', () => {
  assert.deepEqual(indices(makeOrder(3, 1, false), 2, 2), [
    [0, 1],
    [2, 0],
  ]);
  assert.throws(() => makeOrder(0, 1), { code: 'VF_INVALID_VALUE' });
});
