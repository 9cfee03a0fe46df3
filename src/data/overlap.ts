/** Overlap of two question sets: equal but for spacing and LaTeX dress, sharing long word runs, or equal but for numbers. */

import type { Question } from './question.js';

export type OverlapKind = 'exact' | 'n-gram' | 'numbers-changed';

export interface Overlap {
  kind: OverlapKind;
  question: Question;
  /** The question of the other set that it matches. */
  match: Question;
  /** Share of the question's n-grams that the match has (1 for exact). */
  share: number;
}

export interface OverlapOptions {
  /** Words a run. */
  n?: number;
  /** Share of runs from which two questions count as the same. */
  threshold?: number;
}

/** Text for comparison: NFKC, lower case, without LaTeX delimiters and sizing, only letters, digits and signs as words. */
export function normalizeText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\\(?:left|right|displaystyle|mathrm|text|mathbf|quad|qquad)\b|\\[,;:!() [\]]|[$~{}]/g, ' ')
    .replace(/\\[dt]frac/g, '\\frac')
    .replace(/[^\p{L}\p{N}\\+\-*/=<>^%]+/gu, ' ')
    .replace(/\s*([+*/=<>^])\s*/g, '$1')
    .trim();
}

/** Pairs of questions of `set` that match one of `against`, in the order of `set`, at most one pair a question. */
export function findOverlaps(
  set: readonly Question[],
  against: readonly Question[],
  options: OverlapOptions = {},
): Overlap[] {
  const n = options.n ?? 8;
  const threshold = options.threshold ?? 0.5;
  const plain = makeIndex(against, n, (text) => text);
  const masked = makeIndex(against, n, maskNumbers);
  const overlaps: Overlap[] = [];
  for (const question of set) {
    const text = normalizeText(question.question);
    const same = plain.whole.get(text);
    const near = same ? undefined : plain.nearest(text);
    const numbers = same || (near && near.share >= threshold) ? undefined : masked.nearest(maskNumbers(text));
    if (same) overlaps.push({ kind: 'exact', question, match: same, share: 1 });
    else if (near && near.share >= threshold) overlaps.push({ kind: 'n-gram', question, ...near });
    else if (numbers && numbers.share >= Math.max(threshold, 0.8)) {
      overlaps.push({ kind: 'numbers-changed', question, ...numbers });
    }
  }
  return overlaps;
}

function makeIndex(questions: readonly Question[], n: number, change: (text: string) => string) {
  const whole = new Map<string, Question>();
  const holders = new Map<string, number[]>();
  for (const [i, question] of questions.entries()) {
    const text = change(normalizeText(question.question));
    if (!whole.has(text)) whole.set(text, question);
    for (const run of runsOf(text, n)) {
      const list = holders.get(run);
      if (list) list.push(i);
      else holders.set(run, [i]);
    }
  }
  const nearest = (text: string): { match: Question; share: number } | undefined => {
    const runs = runsOf(text, n);
    const hits = new Map<number, number>();
    for (const run of runs) for (const i of holders.get(run) ?? []) hits.set(i, (hits.get(i) ?? 0) + 1);
    const best = [...hits].reduce((a, b) => (b[1] > a[1] ? b : a), [-1, 0]);
    const match = questions[best[0]];
    return match && { match, share: best[1] / runs.size };
  };
  return { whole, nearest };
}

/** Distinct runs of n words; a shorter text is one run. */
function runsOf(text: string, n: number): Set<string> {
  const words = text.split(' ');
  if (words.length <= n) return new Set([text]);
  return new Set(Array.from({ length: words.length - n + 1 }, (_, i) => words.slice(i, i + n).join(' ')));
}

function maskNumbers(text: string): string {
  return text.replace(/\p{N}+(?:[.,]\p{N}+)*/gu, '0');
}
