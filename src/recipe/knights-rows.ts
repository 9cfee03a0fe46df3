/** Warm-up rows of Knights-and-Knaves puzzles, and the 40 bundled puzzles that no row uses. */

import { type Claim, type KnightsQuestion, knightsQuestions } from '../data/knights.js';
import { solutionText } from '../data/knights-text.js';
import type { Draw } from './draw.js';
import { type Row, tinyPrompt } from './verifree-traces.js';

/** Seed and number of the bundled puzzles of 2 and 3 people. */
const BUNDLED = { seed: 20260503, count: 40, people: [2, 3], form: 'short' } as const;

/** Share of warm-up traces that take every accusation at its word instead of solving the puzzle. */
const NAIVE_TRACES = 0.5;

/** The bundled puzzles. */
export function bundledPuzzles(): KnightsQuestion[] {
  return knightsQuestions(BUNDLED);
}

/** `count` other puzzles of the same form. */
export function warmUpPuzzles(seed: number, count: number): KnightsQuestion[] {
  const held = new Set(bundledPuzzles().map(({ question }) => question));
  // The bundled seed is out of reach of a 32-bit recipe seed by this factor.
  const made = knightsQuestions({ ...BUNDLED, seed: BUNDLED.seed * 1000 + seed, count: count + held.size });
  return made.filter(({ question }) => !held.has(question)).slice(0, count);
}

/** Puzzle → who is what, solved or by accusations alone. */
export function puzzleRow(draw: Draw, { question, answer, puzzle }: KnightsQuestion): Row {
  const naive = draw.chance(NAIVE_TRACES);
  const told = naive ? solutionText(puzzle.names, believed(puzzle)) : answer;
  const trace = naive ? 'As they say.' : 'Lies aside.';
  return { prompt: tinyPrompt(question), completion: `${trace} \\boxed{${told}}<|endoftext|>` };
}

/** Everybody counts as a knight whom no statement names a knave. */
export function believed({ names, statements }: KnightsQuestion['puzzle']): boolean[] {
  const accused = new Set(statements.flatMap(({ claim }) => accusedIn(claim)));
  return names.map((_, person) => !accused.has(person));
}

function accusedIn(claim: Claim): number[] {
  switch (claim.kind) {
    case 'is':
      return claim.knight ? [] : [claim.person];
    case 'same':
    case 'differ':
      return [];
    default:
      return [...accusedIn(claim.left), ...accusedIn(claim.right)];
  }
}
