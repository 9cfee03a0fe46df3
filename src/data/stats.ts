/** What a data set holds, in figures: counts, categories, lengths in tokens, and rows that deserve a look. */

import { holdsControlText } from '../text/added.js';
import { encodePatches, refuseReference } from '../text/patch.js';
import type { Template } from '../text/template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { type CategoryCount, categoryTable, tokenLengths } from './filter.js';
import type { Question } from './question.js';

/** Smallest, median, 90th percentile and largest of a list (nearest rank); zeros for an empty one. */
export interface Spread {
  min: number;
  median: number;
  p90: number;
  max: number;
}

export interface DataStats {
  questions: number;
  /** Rows without a reference answer. */
  unlabeled: number;
  /** Rows with more than one. */
  severalAnswers: number;
  /** Rows whose answers can't be patched in (they hold the border or the closing tag). */
  refusedAnswers: number;
  categories: CategoryCount[];
  questionCharacters: Spread;
  answerCharacters: Spread;
  /** With a tokenizer only: final prompts, reference answers alone, and whole patches. */
  tokens?: { prompt: Spread; answer: Spread; patch: Spread };
  /** With a tokenizer only: rows whose question holds a control token's text. */
  controlText?: number;
}

/** The figures of `vf data stats`. Patch lengths count only answers that can be patched. */
export async function dataStats(
  questions: readonly Question[],
  template: Template,
  tokenizer?: Tokenizer,
): Promise<DataStats> {
  const answers = questions.flatMap((question) => question.answers);
  const usable = answers.filter((answer) => refuseReference(template, answer) === null);
  const stats: DataStats = {
    questions: questions.length,
    unlabeled: questions.filter((question) => question.answers.length === 0).length,
    severalAnswers: questions.filter((question) => question.answers.length > 1).length,
    refusedAnswers: answers.length - usable.length,
    categories: categoryTable(questions),
    questionCharacters: spread(questions.map(({ question }) => question.length)),
    answerCharacters: spread(answers.map((answer) => answer.length)),
  };
  if (!tokenizer) return stats;
  const lengths = await tokenLengths(questions, { tokenizer, template });
  const patches = await encodePatches(tokenizer, template, usable);
  return {
    ...stats,
    tokens: {
      prompt: spread(lengths.prompts),
      answer: spread(lengths.answers.flat()),
      patch: spread(patches.map((ids) => ids.length)),
    },
    controlText: questions.filter((q) => holdsControlText(q.question, tokenizer.added) !== undefined).length,
  };
}

/** Spread of a list of numbers. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { min: rank(0), median: rank(0.5), p90: rank(0.9), max: rank(1) };
}
