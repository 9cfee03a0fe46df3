/** The work that one answer may cost: every evaluation draws from it, so that no answer takes long. */

/** Evaluations of one kind that one answer may cost: a few milliseconds. */
const allowance = 12_000;

const left = { exact: allowance, numeric: allowance };

/** Begins a new answer, or a new comparison, with the whole allowance. */
export function beginWork(): void {
  left.exact = allowance;
  left.numeric = allowance;
}

/** Draws units of work; false when none is left, and then the value asked for stays open. */
export function spend(kind: 'exact' | 'numeric', units: number): boolean {
  left[kind] -= units;
  return left[kind] >= 0;
}
