/** Evaluates a policy on questions: samples replies, extracts answers, judges them, and measures confidence in the reference. */

import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import { SPAN_ROLE } from '../native/types.js';
import { PURPOSE } from '../random.js';
import { type RolloutSettings, ragged, sampleGroups } from '../rollout/sample.js';
import type { Trajectory } from '../rollout/trajectory.js';
import type { Metrics } from '../run/events.js';
import { extractBoxed } from '../text/answer.js';
import { equal } from '../text/equal.js';

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
  const settings = {
    ...parts.settings,
    purpose: PURPOSE.evaluation,
    border: '',
    forceBorder: new Int32Array(0),
  };
  const { groups } = await sampleGroups(parts.policy, requests, settings, 0, parts.decode);
  const judged = groups.flatMap((group) =>
    group.traces.map((reply, sample): Judged => {
      const answer = extractBoxed(reply.text);
      const correct = answer !== null && group.question.answers.some((gold) => equal(gold, answer));
      return { question: group.question, reply, sample, answer, correct, confidence: null };
    }),
  );
  if (parts.confidence) await addConfidence(parts, judged, prompts);
  return judged;
}

/** The length of the shortest prefix of ids whose text ends in the border; 0 when there is none. */
export function borderPrefix(ids: Int32Array, border: string, decode: (ids: Int32Array) => string): number {
  const at = decode(ids).indexOf(border);
  if (at < 0) return 0;
  let low = 1;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decode(ids.subarray(0, middle)).length >= at + border.length) high = middle;
    else low = middle + 1;
  }
  return decode(ids.subarray(0, low)).endsWith(border) ? low : 0;
}

async function addConfidence(
  parts: EvaluationParts,
  judged: Judged[],
  prompts: readonly { promptIds: Int32Array; patches: Int32Array[] }[],
): Promise<void> {
  const segments: Int32Array[] = [];
  const parents: number[] = [];
  const spans: number[] = [];
  const owners: number[] = [];
  judged.forEach((one, i) => {
    const { promptIds, patches } = prompts[Math.floor(i / parts.samples)]!;
    const length = borderPrefix(one.reply.ids, parts.border, parts.decode);
    if (length === 0) return;
    const trace = new Int32Array(promptIds.length + length);
    trace.set(promptIds);
    trace.set(one.reply.ids.subarray(0, length), promptIds.length);
    const root = segments.push(trace) - 1;
    parents.push(-1);
    for (const patch of patches) {
      parents.push(root);
      spans.push(segments.push(patch) - 1, 0, patch.length, SPAN_ROLE.answer);
      owners.push(i);
    }
  });
  if (owners.length === 0) return;
  const { logprobs } = await parts.policy.score({
    tree: { tokens: ragged(segments), parents: Int32Array.from(parents) },
    spans: Int32Array.from(spans),
    temperature: 1,
    entropy: false,
    microBatchTokens: parts.microBatchTokens,
  });
  let at = 0;
  owners.forEach((owner, k) => {
    const length = spans[4 * k + 2]!;
    let sum = 0;
    for (let t = 0; t < length; t++) sum += logprobs[at++]!;
    const one = judged[owner]!;
    one.confidence = Math.max(one.confidence ?? 0, Math.exp(sum));
  });
}

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
