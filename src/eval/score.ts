/** Scores of a task from its replies: micro, macro, standard errors, pass@k, vote, confidence. Pure. */

import { VfError } from '../errors.js';
import type { CategoryScore, ReplyRow, TaskReport } from '../run/evaluation.js';
import { voteKey } from './judge.js';
import type { JudgeKind } from './task.js';

/** The replies of one question, by sample. */
export interface QuestionReplies {
  index: number;
  rows: ReplyRow[];
  /** Share of right replies. */
  accuracy: number;
}

/** The part of a report that follows from the replies alone. */
export type Scores = Pick<
  TaskReport,
  | 'questions'
  | 'samples'
  | 'accuracy'
  | 'stderr'
  | 'macro'
  | 'categories'
  | 'groups'
  | 'passAt'
  | 'majority'
  | 'unparsed'
  | 'truncated'
  | 'tokens'
  | 'confidence'
  | 'confidenceShare'
  | 'confidenceCorrelation'
  | 'seconds'
  | 'tokensPerSecond'
>;

/** Replies by question, in the order of the task. */
export function byQuestion(rows: readonly ReplyRow[]): QuestionReplies[] {
  const own = new Map<number, ReplyRow[]>();
  for (const row of rows) own.set(row.index, [...(own.get(row.index) ?? []), row]);
  return [...own]
    .sort(([a], [b]) => a - b)
    .map(([index, list]) => {
      const sorted = list.sort((a, b) => a.sample - b.sample);
      return { index, rows: sorted, accuracy: mean(sorted.map((row) => Number(row.correct))) };
    });
}

/** All scores of one task. */
export function scoreReplies(rows: readonly ReplyRow[]): Scores {
  const questions = byQuestion(rows);
  const overall = clustered(questions);
  const samples = Math.min(...questions.map((question) => question.rows.length));
  const categories = grouped(questions, (row) => row.category);
  const confident = rows.flatMap((row) => (row.confidence === null ? [] : [row.confidence]));
  const tokens = rows.reduce((sum, row) => sum + row.ids.length, 0);
  const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
  return {
    questions: questions.length,
    samples,
    ...overall,
    macro: mean(categories.map((category) => category.accuracy)),
    categories,
    groups: otherGroups(questions),
    passAt: passAtPowers(questions, samples),
    majority: samples > 1 ? mean(questions.map(majorityRight)) : null,
    unparsed: share(rows, (row) => row.answer === null),
    truncated: share(rows, (row) => row.finish === 'length'),
    tokens: tokens / rows.length,
    confidence: confident.length > 0 ? mean(confident) : null,
    confidenceShare: confident.length / rows.length,
    confidenceCorrelation: confidenceCorrelation(questions),
    seconds,
    tokensPerSecond: seconds > 0 ? tokens / seconds : 0,
  };
}

/** Mean over questions with its standard error: questions are the independent draws, not their replies. */
function clustered(questions: readonly QuestionReplies[]): { accuracy: number; stderr: number } {
  const accuracy = mean(questions.map((question) => question.accuracy));
  const squares = questions.reduce((sum, question) => sum + (question.accuracy - accuracy) ** 2, 0);
  const n = questions.length;
  return { accuracy, stderr: n > 1 ? Math.sqrt(squares / (n - 1) / n) : 0 };
}

function grouped(questions: readonly QuestionReplies[], nameOf: (row: ReplyRow) => string): CategoryScore[] {
  const own = new Map<string, QuestionReplies[]>();
  for (const question of questions) {
    const name = nameOf(question.rows[0]!);
    own.set(name, [...(own.get(name) ?? []), question]);
  }
  return [...own]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, list]) => ({ name, questions: list.length, ...clustered(list) }));
}

function otherGroups(questions: readonly QuestionReplies[]): TaskReport['groups'] {
  const kinds = new Set(questions.flatMap(({ rows }) => Object.keys(rows[0]!.groups ?? {})));
  const entries = [...kinds].map((kind) => {
    const scores = grouped(questions, (row) => row.groups?.[kind] ?? '');
    return [kind, { macro: mean(scores.map((one) => one.accuracy)), groups: scores.length, scores }];
  });
  return Object.fromEntries(entries) as TaskReport['groups'];
}

/**
 * The unbiased estimate 1 - C(n-c, k) / C(n, k) of passing with one of k replies, from n of which c are right (Chen et
 * al. 2021, Eq. 1). @throws VF_SAMPLES when there are fewer than k.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (n < k) {
    throw new VfError('VF_SAMPLES', `Expected ${k} replies a question for pass@${k} but received ${n}`, {
      hint: `sample more: --samples ${k}`,
    });
  }
  let none = 1;
  for (let i = n - c + 1; i <= n; i++) none *= i - k > 0 ? 1 - k / i : 0;
  return 1 - none;
}

function passAtPowers(questions: readonly QuestionReplies[], samples: number): Record<string, number> {
  const scores: Record<string, number> = {};
  for (let k = 1; k <= samples; k *= 2) {
    scores[k] = mean(
      questions.map(({ rows }) => passAtK(rows.length, rows.filter((row) => row.correct).length, k)),
    );
  }
  return scores;
}

/** 1 when the answer with most votes is right; of equals the one that came first. Missing answers never vote. */
function majorityRight({ rows }: QuestionReplies): number {
  const votes = new Map<string, { count: number; correct: boolean }>();
  for (const row of rows) {
    const key = voteKey({ ...row, judge: row.judge as JudgeKind }, row.answer);
    if (key === null) continue;
    const known = votes.get(key) ?? { count: 0, correct: row.correct };
    votes.set(key, { ...known, count: known.count + 1 });
  }
  const winner = [...votes.values()].reduce((a, b) => (b.count > a.count ? b : a), {
    count: 0,
    correct: false,
  });
  return Number(winner.correct);
}

function confidenceCorrelation(questions: readonly QuestionReplies[]): number | null {
  const points = questions.flatMap(({ rows, accuracy }) => {
    const known = rows.flatMap((row) => (row.confidence === null ? [] : [row.confidence]));
    return known.length === 0 ? [] : [{ confidence: mean(known), accuracy }];
  });
  return pearson(
    points.map((point) => point.confidence),
    points.map((point) => point.accuracy),
  );
}

/** Pearson's correlation; null under three points, or where either side does not vary. */
export function pearson(a: readonly number[], b: readonly number[]): number | null {
  if (a.length < 3) return null;
  const [ma, mb] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (const [i, x] of a.entries()) {
    const [da, db] = [x - ma, b[i]! - mb];
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return aa === 0 || bb === 0 ? null : ab / Math.sqrt(aa * bb);
}

function share(rows: readonly ReplyRow[], test: (row: ReplyRow) => boolean): number {
  return rows.filter(test).length / rows.length;
}

/** NaN for none. */
export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}
