/** The clipped policy objective of one span token and its derivative (PPO eq. 7, dual clip, k3 penalty), in float64. */

export interface TokenLossOptions {
  /** Negative: no clip. */
  clipLow: number;
  clipHigh: number;
  /** 0: none. */
  dualClip: number;
  /** 0: none; else the weight is multiplied by min(exp(logprob - old), cap), detached, when the ratio is 1 by definition. */
  tisCap: number;
}

export interface TokenLoss {
  /** The clipped objective (to be maximized). */
  surrogate: number;
  kl: number;
  /** d (-surrogate + klWeight kl) / d logprob. */
  gradient: number;
  ratio: number;
  /** The clip removed the gradient. */
  clipped: boolean;
}

/** `old` null: the ratio is 1 by definition. `reference` null: no penalty. Exponents are bounded to +-20. */
export function tokenLoss(
  token: {
    logprob: number;
    old: number | null;
    onPolicy: boolean;
    reference: number | null;
    weight: number;
    klWeight: number;
  },
  options: TokenLossOptions,
): TokenLoss {
  const measured = token.old === null ? 1 : boundedExp(token.logprob - token.old);
  const fixed = token.onPolicy || token.old === null;
  const ratio = fixed ? 1 : measured;
  const correction = fixed && options.tisCap > 0 ? Math.min(measured, options.tisCap) : 1;
  const weight = token.weight * correction;
  let surrogate = ratio * weight;
  let clipped = false;
  if (options.clipLow >= 0 && options.clipHigh >= 0) {
    const inside = Math.min(Math.max(ratio, 1 - options.clipLow), 1 + options.clipHigh) * weight;
    clipped = inside < surrogate;
    surrogate = Math.min(surrogate, inside);
  }
  if (weight < 0 && options.dualClip > 0 && surrogate < options.dualClip * weight) {
    clipped = true;
    surrogate = options.dualClip * weight;
  }
  let kl = 0;
  let gradient = clipped ? 0 : -ratio * weight;
  if (token.reference !== null) {
    const distance = token.reference - token.logprob;
    kl = boundedExp(distance) - distance - 1;
    gradient += token.klWeight * (1 - boundedExp(distance));
  }
  return { surrogate, kl, gradient, ratio, clipped };
}

function boundedExp(x: number): number {
  return Math.exp(Math.min(Math.max(x, -20), 20));
}
