/**
 * Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011), bit for bit those of native/core/rng.h: a pure
 * function of (seed, purpose, step, occurrence, sample, position).
 */

/** What a stream is for; the numbers stand in checkpoints and must not change. */
export const PURPOSE = { policy: 0, verifier: 1, evaluation: 2, order: 3, init: 4 } as const;

/** The 64-bit seed as two words. */
export interface Key {
  low: number;
  high: number;
}

/** The generator's key of a seed (0 to 2^64 - 1). */
export function keyOf(seed: bigint | number): Key {
  const value = BigInt.asUintN(64, BigInt(seed));
  return { low: Number(value & 0xffffffffn), high: Number(value >> 32n) };
}

/** The last counter word of a stream: its purpose and its step (below 2^28). */
export function streamWord(purpose: number, step: number): number {
  return ((purpose << 28) | (step & 0x0fffffff)) >>> 0;
}

/** Writes the four words of counter (c0, c1, c2, c3) to `out`. */
export function philox(key: Key, c0: number, c1: number, c2: number, c3: number, out: Uint32Array): void {
  // Words are signed 32-bit integers in here: the bits are the same, and no step leaves the range of small integers.
  let k0 = key.low | 0;
  let k1 = key.high | 0;
  for (let round = 0; round < 10; round++) {
    const n0 = highProduct(0xcd9e8d57, c2) ^ c1 ^ k0;
    const n2 = highProduct(0xd2511f53, c0) ^ c3 ^ k1;
    c1 = Math.imul(0xcd9e8d57, c2);
    c3 = Math.imul(0xd2511f53, c0);
    c0 = n0;
    c2 = n2;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** Upper 32 bits of the 64-bit product of two unsigned words, as a signed one: by halves, none of whose sums wraps. */
export function highProduct(a: number, b: number): number {
  const aHigh = a >>> 16;
  const aLow = a & 0xffff;
  const bHigh = b >>> 16;
  const bLow = b & 0xffff;
  const first = Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16);
  const second = Math.imul(aLow, bHigh) + (first & 0xffff);
  return (Math.imul(aHigh, bHigh) + (first >>> 16) + (second >>> 16)) | 0;
}

/** 52 random bits and a half: in the open interval (0, 1), never 0, never 1. */
export function toUnit(high: number, low: number): number {
  return (high * 1048576 + (low >>> 12) + 0.5) / 4503599627370496;
}

/** The uniform number at a position of one trajectory's stream, as the engine draws it. */
export function uniformAt(
  stream: { seed: bigint | number; purpose: number; step: number; occurrence: number; sample: number },
  position: number,
): number {
  const words = new Uint32Array(4);
  const last = streamWord(stream.purpose, stream.step);
  philox(keyOf(stream.seed), position >>> 0, stream.sample >>> 0, stream.occurrence >>> 0, last, words);
  return toUnit(words[0] as number, words[1] as number);
}
