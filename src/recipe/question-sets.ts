/** The bundled question sets: disjoint by text and by core, the same bytes on every machine. */

import { draw, STREAM } from './draw.js';
import { CATEGORIES, isLucky, makeProblem, type Problem } from './question-kinds.js';

/** Sizes of the bundled VeriFree sets. */
export const SET_SIZES = { validation: 320, test: 1024, train: 2560 } as const;
export type SetName = keyof typeof SET_SIZES;

/** The seed of the bundled sets; warm-ups of any seed leave these questions out. */
const SET_SEED = 20260501;

export interface QuestionSets {
  sets: Record<SetName, Problem[]>;
  /** Whether a warm-up must not use the problem: its text or its core stands in one of the sets. */
  holds(problem: Problem): boolean;
}

/** Makes all three sets. Test and validation share no core with each other, with training or with any warm-up. */
export function questionSets(): QuestionSets {
  const texts = new Set<string>();
  const evaluated = new Set<string>();
  const sets = {} as Record<SetName, Problem[]>;
  for (const name of ['validation', 'test', 'train'] as const) {
    const own = new Set<string>();
    sets[name] = fill(STREAM[name], SET_SIZES[name], (problem) => {
      const core = coreOf(problem);
      if (texts.has(problem.question) || evaluated.has(core)) return false;
      if (name !== 'train' && own.has(core)) return false;
      texts.add(problem.question);
      own.add(core);
      return true;
    });
    if (name !== 'train') for (const core of own) evaluated.add(core);
  }
  return { sets, holds: (problem) => texts.has(problem.question) || evaluated.has(coreOf(problem)) };
}

/** Categories in turn; each keeps three lucky problems in eight. */
function fill(stream: number, size: number, take: (problem: Problem) => boolean): Problem[] {
  const problems: Problem[] = [];
  let row = 0;
  while (problems.length < size) {
    const category = CATEGORIES[problems.length % CATEGORIES.length]!;
    const lucky = isLucky(Math.floor(problems.length / CATEGORIES.length));
    const problem = makeProblem(draw(SET_SEED, stream, row++), category, lucky);
    if (take(problem)) problems.push(problem);
  }
  return problems;
}

function coreOf(problem: Problem): string {
  return `${problem.category} ${problem.core}`;
}

/** JSON lines with question, answer and category. */
export function questionLines(problems: { question: string; answer: string; category: string }[]): string {
  return problems
    .map(({ question, answer, category }) => `${JSON.stringify({ question, answer, category })}\n`)
    .join('');
}
