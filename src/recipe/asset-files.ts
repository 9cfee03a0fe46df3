/** The bundled question files, as the recipes make them. */

import { biasedSets } from './biased-sets.js';
import { bundledPuzzles } from './knights-rows.js';
import { questionLines, questionSets } from './question-sets.js';

/** Path below `assets/` → text. The same bytes on every machine; a test compares the committed files with these. */
export function questionFiles(): Record<string, string> {
  const { sets } = questionSets();
  const { unlabeled, heldOut } = biasedSets();
  return {
    'questions/train.jsonl': questionLines(sets.train),
    'questions/validation.jsonl': questionLines(sets.validation),
    'questions/test.jsonl': questionLines(sets.test),
    'questions/t3rl.jsonl': questionLines(unlabeled),
    'questions/t3rl-heldout.jsonl': questionLines(heldOut),
    'questions/knights.jsonl': questionLines(
      bundledPuzzles().map(({ question, answer, people }) => ({
        question,
        answer,
        category: `${people} people`,
      })),
    ),
  };
}
