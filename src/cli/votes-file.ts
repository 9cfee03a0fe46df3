/** votes.jsonl: one line a question and step, enough to count the vote again. */

import type { QuestionVote } from '../objective/vote.js';
import { RUN_FILES } from '../run/folder.js';
import type { RunStore } from '../run/store.js';

/** Writes the votes of a step; on resume the store has cut the file back to the checkpoint. */
export function votesWriter(store: RunStore): (step: number, votes: readonly QuestionVote[]) => void {
  const file = store.file(RUN_FILES.votes);
  return (step, votes) => {
    for (const vote of votes) file.append(voteLine(step, vote));
  };
}

/** One question's vote as plain JSON; an unbounded mass is the text `inf`. */
export function voteLine(step: number, { group, answers, verdicts, tally, gold }: QuestionVote) {
  const { question, occurrence } = group;
  return {
    step,
    id: question.id,
    question: question.question,
    occurrence,
    label: tally.label,
    gold,
    majority: tally.majority,
    flipped: tally.flipped,
    tie: tally.tie,
    skipped: tally.skipped,
    omegaOff: tally.omegaOff,
    agreement: tally.agreement,
    answers: tally.answers.map(({ mass, ...counts }) => ({
      ...counts,
      mass: mass === Number.POSITIVE_INFINITY ? 'inf' : mass,
    })),
    votes: answers.map(({ key }) => key),
    ...(verdicts === null
      ? {}
      : {
          verdicts: verdicts.map(({ reason }) => reason),
          outputs: verdicts.map(({ output }) => output),
        }),
  };
}
