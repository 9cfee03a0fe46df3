/**
 * The order in which a run draws its questions: every epoch a new seeded permutation, epochs joined end to end, so that a
 * batch at the end of an epoch is filled from the next one and each question is used exactly once an epoch.
 */

import { invalidValue } from '../errors.js';
import { keyOf, PURPOSE, philox, streamWord } from '../random.js';

/** Where a run stands, for its checkpoint: questions drawn so far. Seed and number of questions are the run's own. */
export interface Cursor {
  drawn: number;
}

export interface Draw {
  /** Index of the question in its data set. */
  index: number;
  /** How many questions the run drew before this one: the third word of its random stream. */
  occurrence: number;
  /** 0-based. */
  epoch: number;
}

export interface Order {
  /** Draws at a cursor, without moving it. */
  at(cursor: Cursor, count: number): Draw[];
  /** Draws `count` questions and moves the cursor behind them. */
  take(cursor: Cursor, count: number): { draws: Draw[]; cursor: Cursor };
}

/** The order of `questions` questions under a seed. @param shuffle false keeps the file's order in every epoch. */
export function makeOrder(questions: number, seed: bigint | number, shuffle = true): Order {
  if (!Number.isInteger(questions) || questions < 1)
    throw invalidValue('questions', 'at least one', questions);
  let cached: { epoch: number; permutation: Uint32Array } | undefined;
  const permutationOf = (epoch: number): Uint32Array => {
    if (cached?.epoch !== epoch) cached = { epoch, permutation: permutation(questions, seed, epoch) };
    return cached.permutation;
  };
  const at = ({ drawn }: Cursor, count: number): Draw[] =>
    Array.from({ length: count }, (_, i) => {
      const occurrence = drawn + i;
      const epoch = Math.floor(occurrence / questions);
      const place = occurrence % questions;
      return { index: shuffle ? (permutationOf(epoch)[place] as number) : place, occurrence, epoch };
    });
  return {
    at,
    take: (cursor, count) => ({ draws: at(cursor, count), cursor: { drawn: cursor.drawn + count } }),
  };
}

/** Indices 0 … count - 1 sorted by a 64-bit random key of (seed, epoch, index); a tie goes to the smaller index. */
export function permutation(count: number, seed: bigint | number, epoch: number): Uint32Array {
  const key = keyOf(seed);
  const last = streamWord(PURPOSE.order, epoch);
  const words = new Uint32Array(4);
  const high = new Uint32Array(count);
  const low = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    philox(key, index, 0, 0, last, words);
    high[index] = words[0] as number;
    low[index] = words[1] as number;
  }
  const indices = Uint32Array.from({ length: count }, (_, index) => index);
  return indices.sort(
    (a, b) => (high[a] as number) - (high[b] as number) || (low[a] as number) - (low[b] as number) || a - b,
  );
}
