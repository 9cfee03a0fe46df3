/** Knights-and-Knaves as SMT-LIB 2 by rule: one Bool a person (true = knight), each statement equal to its speaker. */

import type { Claim } from '../data/knights.js';
import { readPuzzle, readSolution } from '../data/knights-text.js';

/** Names of a puzzle's people and its encoding; null when the text is no puzzle of a known shape. */
export function encodeKnights(question: string): { names: string[]; encoding: string } | null {
  const puzzle = readPuzzle(question);
  if (puzzle === null) return null;
  const { names, statements } = puzzle;
  const lines = [
    ...names.map((name) => `(declare-const ${name} Bool)`),
    ...statements.map(({ speaker, claim }) => `(assert (= ${names[speaker]} ${claimTerm(claim, names)}))`),
  ];
  return { names, encoding: lines.join('\n') };
}

/** An answer as a term over the people's constants; null unless it names each of them exactly once. */
export function solutionTerm(answer: string, names: readonly string[]): string | null {
  const knights = readSolution(answer, names);
  if (knights === null) return null;
  return `(and ${names.map((name, i) => literal(name, knights[i]!)).join(' ')})`;
}

function claimTerm(claim: Claim, names: readonly string[]): string {
  switch (claim.kind) {
    case 'is':
      return literal(names[claim.person]!, claim.knight);
    case 'same':
      return `(= ${names[claim.left]} ${names[claim.right]})`;
    case 'differ':
      return `(not (= ${names[claim.left]} ${names[claim.right]}))`;
    default: {
      const operator = { and: 'and', or: 'or', if: '=>', iff: '=' }[claim.kind];
      return `(${operator} ${claimTerm(claim.left, names)} ${claimTerm(claim.right, names)})`;
    }
  }
}

function literal(name: string, knight: boolean): string {
  return knight ? name : `(not ${name})`;
}
