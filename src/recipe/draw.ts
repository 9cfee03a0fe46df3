/** Random draws of the recipes: a counter-based generator, so that row i of a corpus depends on nothing but its seed and i. */

import { philox } from '../random.js';

/** Draws of one row, in order. The same (seed, stream, row) gives the same draws on every machine. */
export interface Draw {
  /** Uniform in [0, 1), 32 bits. */
  unit(): number;
  /** Uniform whole number in [low, high], both included. */
  int(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** `count` different members, in random order. */
  sample<T>(list: readonly T[], count: number): T[];
}

/** Streams of the recipes; the numbers decide the bytes of the bundled files and must not change. */
export const STREAM = {
  validation: 1,
  test: 2,
  train: 3,
  careful: 4,
  weak: 5,
  tokenizer: 6,
  unlabeled: 7,
  heldOut: 8,
  skills: 9,
  verifier: 10,
  puzzles: 11,
  weights: 12,
} as const;

/** The draws of `row` in a stream of `seed` (all below 2^32). */
export function draw(seed: number, stream: number, row: number): Draw {
  const key = { low: seed, high: stream };
  const words = new Uint32Array(4);
  let used = 4;
  let counter = 0;
  const next = (): number => {
    if (used === 4) {
      philox(key, counter++, row >>> 0, 0, 0, words);
      used = 0;
    }
    return words[used++]!;
  };
  const unit = (): number => next() / 4294967296;
  const int = (low: number, high: number): number => low + Math.floor(unit() * (high - low + 1));
  return {
    unit,
    int,
    chance: (probability) => unit() < probability,
    pick: (list) => list[int(0, list.length - 1)]!,
    sample: (list, count) => {
      const rest = [...list];
      for (let i = 0; i < count; i++) {
        const j = int(i, rest.length - 1);
        [rest[i], rest[j]] = [rest[j]!, rest[i]!];
      }
      return rest.slice(0, count);
    },
  };
}
