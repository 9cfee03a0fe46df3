/** The vote again, in exact rationals and from the samples' weights one by one: what `tally` is compared with. */

export interface ExactBallot {
  key: string | null;
  verdict: 1 | 0 | 'missing';
}

/** ω = numerator / denominator, or the lexicographic limit when `omega` is null. Returns the label, or null. */
export function exactLabel(
  ballots: readonly ExactBallot[],
  omega: { numerator: bigint; denominator: bigint } | null,
): string | null {
  const keys = [...new Set(ballots.map((ballot) => ballot.key))].filter((key) => key !== null);
  const mass = (key: string): [bigint, bigint] => {
    let high = 0n;
    let low = 0n;
    for (const ballot of ballots) {
      if (ballot.key !== key) continue;
      if (omega === null) {
        if (ballot.verdict === 1) high += 1n;
        else low += 1n;
      } else {
        low += ballot.verdict === 1 ? omega.numerator : omega.denominator;
      }
    }
    return [high, low];
  };
  let best: string | null = null;
  for (const key of keys) {
    if (best === null) {
      best = key;
      continue;
    }
    const [high, low] = mass(key);
    const [bestHigh, bestLow] = mass(best);
    const first = (wanted: string): number => ballots.findIndex((ballot) => ballot.key === wanted);
    const larger = high > bestHigh || (high === bestHigh && low > bestLow);
    const equal = high === bestHigh && low === bestLow;
    if (larger || (equal && first(key) < first(best))) best = key;
  }
  return best;
}
