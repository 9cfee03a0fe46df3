/** Random draws of the recipes: a counter-based generator, so that row i of a corpus depends on nothing but its seed and i. */

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

/** The draws of `row` in a stream of `seed` (both below 2^32). */
export function draw(seed: number, stream: number, row: number): Draw {
  let block: [number, number, number, number] = [0, 0, 0, 0];
  let used = 4;
  let counter = 0;
  const next = (): number => {
    if (used === 4) {
      block = philox(seed, stream, counter++, row);
      used = 0;
    }
    return block[used++]!;
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

/** Philox 4x32-10 (Salmon et al. 2011), key (seed, stream), counter (block, row, 0, 0). */
function philox(
  seed: number,
  stream: number,
  counter: number,
  row: number,
): [number, number, number, number] {
  let [c0, c1, c2, c3] = [counter >>> 0, row >>> 0, 0, 0];
  let [k0, k1] = [seed >>> 0, stream >>> 0];
  for (let round = 0; round < 10; round++) {
    const n0 = (highWord(0xcd9e8d57, c2) ^ c1 ^ k0) >>> 0;
    const n2 = (highWord(0xd2511f53, c0) ^ c3 ^ k1) >>> 0;
    c1 = Math.imul(0xcd9e8d57, c2) >>> 0;
    c3 = Math.imul(0xd2511f53, c0) >>> 0;
    c0 = n0;
    c2 = n2;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** The upper 32 bits of the 64-bit product of two 32-bit words. */
function highWord(a: number, b: number): number {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = aHigh * bLow + Math.floor((aLow * bLow) / 65536);
  const cross = aLow * bHigh + (middle % 65536);
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(cross / 65536)) >>> 0;
}
