/** The bundled test-time sets: 48 unlabeled questions and 240 others of the same kinds, disjoint by text. */

import { BIASED_CATEGORIES, type BiasedProblem, makeBiasedProblem } from './biased-kinds.js';
import { draw, STREAM } from './draw.js';

/** Questions a category: in the set that `vf ttrl` trains on, and in the set it never sees. */
export const BIASED_SIZES = { unlabeled: 6, heldOut: 30 } as const;

const SET_SEED = 20260502;

export interface BiasedSets {
  unlabeled: BiasedProblem[];
  heldOut: BiasedProblem[];
  /** Question texts of both; no warm-up row uses them. */
  held: ReadonlySet<string>;
}

/** Makes both sets, categories in turn. */
export function biasedSets(): BiasedSets {
  const held = new Set<string>();
  const fill = (stream: number, count: number): BiasedProblem[] => {
    const problems: BiasedProblem[] = [];
    let row = 0;
    while (problems.length < count * BIASED_CATEGORIES.length) {
      const category = BIASED_CATEGORIES[problems.length % BIASED_CATEGORIES.length]!;
      const problem = makeBiasedProblem(draw(SET_SEED, stream, row++), category);
      if (held.has(problem.question)) continue;
      held.add(problem.question);
      problems.push(problem);
    }
    return problems;
  };
  const unlabeled = fill(STREAM.unlabeled, BIASED_SIZES.unlabeled);
  const heldOut = fill(STREAM.heldOut, BIASED_SIZES.heldOut);
  return { unlabeled, heldOut, held };
}
