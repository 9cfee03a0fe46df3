/** Seeded numbers for the reference tests: small, own, and independent of the engine's generator. */

export interface Seeded {
  /** Uniform in (0, 1). */
  unit(): number;
  /** Standard normal. */
  normal(): number;
  /** Integer in [low, high]. */
  integer(low: number, high: number): number;
}

/** A generator that depends on nothing but `seed` (splitmix32 and the Box–Muller transform). */
export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  const unit = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (((z ^ (z >>> 15)) >>> 0) + 0.5) / 4294967296;
  };
  return {
    unit,
    normal: () => Math.sqrt(-2 * Math.log(unit())) * Math.cos(2 * Math.PI * unit()),
    integer: (low, high) => low + Math.floor(unit() * (high - low + 1)),
  };
}

/** `count` normal numbers times `scale`, around `center`. */
export function normals(random: Seeded, count: number, scale = 1, center = 0): Float64Array {
  return Float64Array.from({ length: count }, () => center + scale * random.normal());
}
