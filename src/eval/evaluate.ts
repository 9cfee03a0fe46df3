/** Evaluates a policy on held-out questions in training: samples replies, judges them, measures confidence in the reference. */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import { PURPOSE } from '../random.js';
import { type RolloutSettings, sampleGroups } from '../rollout/sample.js';
import type { Trajectory } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { scoreConfidence } from './confidence.js';
import { judgeReply } from './judge.js';

export interface EvaluationParts {
  policy: Policy;
  questions: readonly Question[];
  prompt(questions: readonly Question[]): Promise<{ promptIds: Int32Array; patches: Int32Array[] }[]>;
  decode(ids: Int32Array): string;
  settings: Omit<RolloutSettings, 'purpose' | 'border' | 'forceBorder'>;
  /** Where a trace ends inside a reply; its text. */
  border: string;
  /** Replies a question. */
  samples: number;
  /** Score the reference after each trace (always at T = 1). */
  confidence: boolean;
  microBatchTokens: number;
  /** First question's occurrence number: a question's draws do not depend on the others. */
  firstOccurrence?: number;
}

export interface Judged {
  question: Question;
  reply: Trajectory;
  sample: number;
  /** null: no answer found. */
  answer: string | null;
  correct: boolean;
  /** π(y* | x, z) at T = 1 of the likeliest reference; null without border or when not asked for. */
  confidence: number | null;
}

/** Samples and judges every question; results in the order (question, sample). */
export async function evaluateQuestions(parts: EvaluationParts): Promise<Judged[]> {
  const prompts = await parts.prompt(parts.questions);
  const first = parts.firstOccurrence ?? 0;
  const requests = parts.questions.map((question, i) => ({
    question,
    occurrence: first + i,
    promptIds: prompts[i]!.promptIds,
    patches: [],
    samples: parts.samples,
  }));
  const settings = { ...parts.settings, ...REPLY };
  const { groups } = await sampleGroups(parts.policy, requests, settings, 0, parts.decode);
  const judged = groups.flatMap((group) =>
    group.traces.map((reply, sample): Judged => {
      const verdict = judgeReply({ judge: 'boxed', answers: group.question.answers }, reply.text);
      return { question: group.question, reply, sample, ...verdict, confidence: null };
    }),
  );
  if (!parts.confidence) return judged;
  const confidence = await scoreConfidence(
    parts,
    judged.map(({ reply }, i) => ({ replyIds: reply.ids, ...prompts[Math.floor(i / parts.samples)]! })),
  );
  return judged.map((one, i) => ({ ...one, confidence: confidence[i]! }));
}

/** What makes a sampled trace a reply: its own random streams, and no stop at the border. */
export const REPLY = { purpose: PURPOSE.evaluation, border: '', forceBorder: new Int32Array(0) } as const;

/** Accuracy with its standard error (clustered by question), and what went wrong. Keys are `eval/<task>/…`. */
export function evaluationMetrics(task: string, judged: readonly Judged[]): Metrics {
  const byQuestion = new Map<Question, Judged[]>();
  for (const one of judged) byQuestion.set(one.question, [...(byQuestion.get(one.question) ?? []), one]);
  const means = [...byQuestion.values()].map((own) => own.filter((one) => one.correct).length / own.length);
  const accuracy = mean(means);
  const variance = means.reduce((sum, x) => sum + (x - accuracy) ** 2, 0) / Math.max(1, means.length - 1);
  const share = (test: (one: Judged) => boolean) => judged.filter(test).length / Math.max(1, judged.length);
  const confident = judged.flatMap((one) => (one.confidence === null ? [] : [one.confidence]));
  const prefix = `eval/${task}/`;
  return {
    [`${prefix}accuracy`]: accuracy,
    [`${prefix}stderr`]: Math.sqrt(variance / Math.max(1, means.length)),
    [`${prefix}questions`]: means.length,
    [`${prefix}unparsed`]: share((one) => one.answer === null),
    [`${prefix}truncated`]: share((one) => one.reply.finish === 'length'),
    [`${prefix}tokens`]: mean(judged.map((one) => one.reply.ids.length)),
    ...(confident.length > 0 ? { [`${prefix}confidence`]: mean(confident) } : {}),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
}
