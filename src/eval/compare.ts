/** Compares two evaluations question by question: a paired test on what both have. */

import type { ReplyRow } from '../run/evaluation.js';
import { byQuestion, mean } from './score.js';

export interface Comparison {
  task: string;
  /** Questions that both have. */
  questions: number;
  onlyA: number;
  onlyB: number;
  accuracyA: number;
  accuracyB: number;
  /** B - A. */
  difference: number;
  stderr: number;
  /** Questions on which B, or A, has more right. */
  betterB: number;
  betterA: number;
  /** Two-sided. */
  p: number;
  /** `McNemar, exact` for one reply a question on both sides, else `paired t`. */
  test: string;
  /** Questions whose prompts differ between the two. */
  otherPrompt: number;
}

/** One comparison a task that both evaluations have. */
export function compareReplies(a: readonly ReplyRow[], b: readonly ReplyRow[]): Comparison[] {
  const tasks = [...new Set(a.map((row) => row.task))].filter((task) => b.some((row) => row.task === task));
  return tasks.map((task) =>
    compareTask(
      task,
      a.filter((row) => row.task === task),
      b.filter((row) => row.task === task),
    ),
  );
}

function compareTask(task: string, a: readonly ReplyRow[], b: readonly ReplyRow[]): Comparison {
  const key = (row: ReplyRow) => `${row.index}\n${row.id}`;
  const right = new Map(byQuestion(b).map((question) => [key(question.rows[0]!), question]));
  const left = byQuestion(a);
  const pairs = left.flatMap((question) => {
    const other = right.get(key(question.rows[0]!));
    return other === undefined ? [] : [{ a: question, b: other }];
  });
  const differences = pairs.map((pair) => pair.b.accuracy - pair.a.accuracy);
  const betterB = differences.filter((d) => d > 0).length;
  const betterA = differences.filter((d) => d < 0).length;
  const single = pairs.every((pair) => pair.a.rows.length === 1 && pair.b.rows.length === 1);
  const { difference, stderr } = meanWithError(differences);
  return {
    task,
    questions: pairs.length,
    onlyA: left.length - pairs.length,
    onlyB: right.size - pairs.length,
    accuracyA: mean(pairs.map((pair) => pair.a.accuracy)),
    accuracyB: mean(pairs.map((pair) => pair.b.accuracy)),
    difference,
    stderr,
    betterB,
    betterA,
    p: single ? signTest(betterA, betterB) : pairedT(difference, stderr, pairs.length),
    test: single ? 'McNemar, exact' : 'paired t',
    otherPrompt: pairs.filter((pair) => pair.a.rows[0]!.promptHash !== pair.b.rows[0]!.promptHash).length,
  };
}

function meanWithError(values: readonly number[]): { difference: number; stderr: number } {
  const difference = mean(values);
  const n = values.length;
  const variance = values.reduce((sum, value) => sum + (value - difference) ** 2, 0) / Math.max(1, n - 1);
  return { difference, stderr: Math.sqrt(variance / Math.max(1, n)) };
}

/** Exact two-sided binomial test of equal chances on the questions that changed (McNemar's test). */
export function signTest(worse: number, better: number): number {
  const n = worse + better;
  if (n === 0) return 1;
  // Sum of C(n, i) / 2^n for i up to the smaller count, in logarithms.
  let logTerm = -n * Math.LN2;
  let sum = 0;
  for (let i = 0; i <= Math.min(worse, better); i++) {
    sum += Math.exp(logTerm);
    logTerm += Math.log((n - i) / (i + 1));
  }
  return Math.min(1, 2 * sum);
}

/** Two-sided p of Student's t for a mean difference; 1 when nothing differs. */
export function pairedT(difference: number, stderr: number, n: number): number {
  if (difference === 0 || n < 2) return 1;
  if (stderr === 0) return 0;
  const t = difference / stderr;
  const df = n - 1;
  return incompleteBeta(df / (df + t * t), df / 2, 0.5);
}

/** The regularized incomplete beta function I_x(a, b), by Lentz's continued fraction (Numerical Recipes, 6.4). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  // The fraction converges fast on one side; the other follows by symmetry.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / guard(1 - ((a + b) * x) / (a + 1), tiny);
  let fraction = d;
  for (let m = 1; m <= 300; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      d = 1 / guard(1 + term * d, tiny);
      c = guard(1 + term / c, tiny);
      change = c * d;
      fraction *= change;
    }
    if (Math.abs(change - 1) < 1e-14) break;
  }
  return (front * fraction) / a;
}

function guard(value: number, tiny: number): number {
  return Math.abs(value) < tiny ? tiny : value;
}

/** Logarithm of the gamma function for x > 0: Stirling's series after shifting x above 10. */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  for (; z < 10; z++) shift -= Math.log(z);
  const w = 1 / (z * z);
  const series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / z;
  return shift + (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series;
}
