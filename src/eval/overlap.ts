/** Contamination: which questions of a task share a run of 13 words with a training file. */

import { findOverlaps } from '../data/overlap.js';
import type { Question } from '../data/question.js';
import type { OverlapScore } from '../run/evaluation.js';
import { mean, type QuestionReplies } from './score.js';
import type { Item } from './task.js';

/** Words a run, as GPT-3's report counts them (Brown et al. 2020, appendix C). */
const WORDS = 13;
/** Pairs that a report lists. */
const SHOWN = 20;

/** The overlap of a task's questions with those of a file; one shared run is enough. */
export function overlapScore(
  file: string,
  training: readonly Question[],
  asked: readonly { index: number; item: Item }[],
  replies: readonly QuestionReplies[],
): OverlapScore {
  const questions = asked.map(({ index, item }) => questionOf(item, index));
  const found = findOverlaps(questions, training, { n: WORDS, threshold: Number.MIN_VALUE });
  const dirty = new Set(found.map(({ question }) => question.line - 1));
  const clean = replies.filter(({ index }) => !dirty.has(index));
  return {
    file,
    words: WORDS,
    overlapping: found.length,
    same: found.filter(({ kind }) => kind !== 'n-gram').length,
    cleanAccuracy: clean.length === 0 ? null : mean(clean.map(({ accuracy }) => accuracy)),
    examples: found.slice(0, SHOWN).map(({ kind, question, match, share }) => ({
      id: question.id,
      kind,
      share,
      match: `${match.file}:${match.line}`,
    })),
  };
}

function questionOf({ id, question, answers, category }: Item, index: number): Question {
  return { id, question, answers, category, file: '', line: index + 1 };
}
