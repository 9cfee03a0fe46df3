/** The evaluations of `vf ttrl`: pass@1 on the training questions themselves and on others, halves of the data apart. */

import type { Question } from '../data/question.js';
import { type EvaluationParts, evaluateQuestions, evaluationMetrics, type Judged } from '../eval/evaluate.js';
import type { Policy } from '../native/policy.js';
import { POPULAR_WRONG } from '../recipe/biased-kinds.js';
import type { Metrics } from '../run/events.js';
import { canonical } from '../text/equal.js';
import { tally } from '../verify/tally.js';

/** A set to measure on. `transductive` names the training questions. */
export interface EvaluationSet {
  task: string;
  questions: Question[];
  /** Part of its set that a question belongs to, shown apart; null shows none. */
  partOf: ((question: Question) => string) | null;
}

/** Sets of more categories than this are shown whole only. */
const MOST_PARTS = 6;

/** The halves of the bundled set: categories whose popular answer is wrong by construction, and the others. */
export function biasedHalf({ category }: Question): string {
  return (POPULAR_WRONG as readonly string[]).includes(category) ? 'biased' : 'other';
}

/** A set of a user's file: its categories apart when they are few. Questions without a reference are left out. */
export function evaluationSet(
  task: string,
  all: readonly Question[],
  limit: number,
  partOf?: (question: Question) => string,
): EvaluationSet | null {
  const known = all.filter(({ answers }) => answers.length > 0);
  const questions = limit > 0 ? known.slice(0, limit) : known;
  if (questions.length === 0) return null;
  const categories = new Set(questions.map(({ category }) => category));
  const few = categories.size > 1 && categories.size <= MOST_PARTS;
  return { task, questions, partOf: partOf ?? (few ? (question) => question.category || 'none' : null) };
}

/** Measures every set; keys `eval/<task>/…`, parts as `eval/<task>-<part>/…`. */
export async function evaluateSets(
  sets: readonly EvaluationSet[],
  policy: Policy,
  parts: Omit<EvaluationParts, 'policy' | 'questions' | 'firstOccurrence'>,
): Promise<Metrics> {
  let metrics: Metrics = {};
  let firstOccurrence = 0;
  for (const { task, questions, partOf } of sets) {
    const judged = await evaluateQuestions({ ...parts, policy, questions, firstOccurrence });
    firstOccurrence += questions.length;
    metrics = { ...metrics, ...passMetrics(task, judged) };
    if (partOf === null) continue;
    for (const part of [...new Set(questions.map(partOf))].sort()) {
      const own = judged.filter(({ question }) => partOf(question) === part);
      metrics = { ...metrics, ...passMetrics(`${task}-${part.replaceAll(/\s+/g, '-')}`, own) };
    }
  }
  return metrics;
}

/** Accuracy as pass@1 (mean over replies), and the share of questions whose plain majority answer is right. */
export function passMetrics(task: string, judged: readonly Judged[]): Metrics {
  const metrics = evaluationMetrics(task, judged);
  const byQuestion = new Map<Question, Judged[]>();
  for (const one of judged) byQuestion.set(one.question, [...(byQuestion.get(one.question) ?? []), one]);
  const right = [...byQuestion.values()].filter(majorityIsRight).length;
  return {
    ...metrics,
    [`eval/${task}/pass@1`]: metrics[`eval/${task}/accuracy`] ?? 0,
    [`eval/${task}/majority`]: right / Math.max(1, byQuestion.size),
  };
}

function majorityIsRight(replies: readonly Judged[]): boolean {
  const keys = replies.map(({ answer }) => (answer === null ? null : canonical(answer)));
  const { label } = tally(
    keys.map((key) => ({ key, verdict: 0 })),
    { omega: 1, minAgreement: 0, maxMissing: 1 },
  );
  return label !== null && replies[keys.indexOf(label)]!.correct;
}
