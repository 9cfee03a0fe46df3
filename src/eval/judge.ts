/** Judges one reply: the answer it states, and whether it is right. Pure, and all that `vf eval rescore` needs. */

import { readSolution } from '../data/knights-text.js';
import type { ReplyRow } from '../run/evaluation.js';
import { extractBoxed, extractChoice } from '../text/answer.js';
import { canonical, equal } from '../text/equal.js';
import { statedAnswer } from './stated.js';
import type { JudgeKind } from './task.js';

export interface Asked {
  judge: JudgeKind;
  answers: readonly string[];
  options?: readonly string[] | undefined;
}

export interface Verdict {
  /** null: none found. */
  answer: string | null;
  correct: boolean;
}

/** The verdict on a reply's text. An answer that is not found is never guessed. */
export function judgeReply(asked: Asked, text: string): Verdict {
  const answer = answerOf(asked, text);
  return { answer, correct: answer !== null && isRight(asked, answer) };
}

function answerOf({ judge, options }: Asked, text: string): string | null {
  if (judge === 'boxed') return extractBoxed(text);
  if (judge === 'choice') return extractChoice(text, options ?? 0);
  return statedAnswer(text);
}

function isRight({ judge, answers }: Asked, answer: string): boolean {
  if (judge === 'choice') return answers.includes(answer);
  if (judge === 'knights') return answers.some((gold) => sameSolution(gold, answer));
  return answers.some((gold) => equal(gold, answer));
}

/** Same person by person, in whatever order they are named. */
function sameSolution(gold: string, answer: string): boolean {
  const names = gold.split(', ').map((clause) => clause.split(' ')[0]!);
  const [right, said] = [readSolution(gold, names), readSolution(answer, names)];
  return right !== null && said !== null && right.every((knight, i) => knight === said[i]);
}

/** What replies of one question vote under; null never votes. */
export function voteKey({ judge, answers }: Asked, answer: string | null): string | null {
  if (answer === null || judge === 'choice') return answer;
  if (judge !== 'knights') return canonical(answer);
  const names = (answers[0] ?? '').split(', ').map((clause) => clause.split(' ')[0]!);
  return readSolution(answer, names)?.map(Number).join('') ?? null;
}

/** Stored replies under today's rules. */
export function judgeAgain(rows: readonly ReplyRow[]): ReplyRow[] {
  return rows.map((row) => ({ ...row, ...judgeReply({ ...row, judge: row.judge as JudgeKind }, row.text) }));
}
