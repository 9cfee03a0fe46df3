/** Knights-and-Knaves puzzles with one solution, made from a seed: puzzle i depends on nothing but the seed and i. */

import { PURPOSE, uniformAt } from '../random.js';
import { type PuzzleForm, puzzleText, solutionText } from './knights-text.js';

/** What somebody claims; persons are indices into the puzzle's names. */
export type Claim =
  | { kind: 'is'; person: number; knight: boolean }
  | { kind: 'and' | 'or' | 'if' | 'iff'; left: Claim; right: Claim }
  | { kind: 'same' | 'differ'; left: number; right: number };

export interface Puzzle {
  names: string[];
  /** Who says what; in a generated puzzle each person speaks once, in order. */
  statements: { speaker: number; claim: Claim }[];
}

export interface KnightsQuestion {
  id: string;
  question: string;
  /** `Ava is a knight, Ben is a knave`, in the puzzle's order. */
  answer: string;
  people: number;
  puzzle: Puzzle;
}

export interface KnightsOptions {
  seed: number;
  count: number;
  /** Numbers of people, each 2 to 5; puzzle i has the i-th of them, around and around. */
  people: readonly number[];
  /** `story` is told in sentences, `short` is as few characters as possible. */
  form: PuzzleForm;
}

export const knightsNames = [
  ...[
    'Ava',
    'Ben',
    'Cora',
    'Dan',
    'Eve',
    'Finn',
    'Gus',
    'Hal',
    'Ida',
    'Jon',
    'Kay',
    'Leo',
    'Mia',
    'Ned',
    'Ola',
    'Pam',
  ],
] as const;

/** Is the claim true, when `knights` says who is a knight? */
export function isTrue(claim: Claim, knights: readonly boolean[]): boolean {
  switch (claim.kind) {
    case 'is':
      return knights[claim.person] === claim.knight;
    case 'same':
      return knights[claim.left] === knights[claim.right];
    case 'differ':
      return knights[claim.left] !== knights[claim.right];
    case 'and':
      return isTrue(claim.left, knights) && isTrue(claim.right, knights);
    case 'or':
      return isTrue(claim.left, knights) || isTrue(claim.right, knights);
    case 'if':
      return !isTrue(claim.left, knights) || isTrue(claim.right, knights);
    case 'iff':
      return isTrue(claim.left, knights) === isTrue(claim.right, knights);
  }
}

/** Every assignment under which all knights told the truth and all knaves lied, by enumeration of all 2^n. */
export function solutions(puzzle: Puzzle): boolean[][] {
  const found: boolean[][] = [];
  for (let bits = 0; bits < 2 ** puzzle.names.length; bits++) {
    const knights = puzzle.names.map((_, i) => (bits & (1 << i)) !== 0);
    const fits = puzzle.statements.every(({ speaker, claim }) => isTrue(claim, knights) === knights[speaker]);
    if (fits) found.push(knights);
  }
  return found;
}

/** Puzzles with exactly one solution, all different in text. Throws RangeError for people outside 2 to 5. */
export function knightsQuestions(options: KnightsOptions): KnightsQuestion[] {
  const made = new Map<string, KnightsQuestion>();
  for (let i = 0; made.size < options.count; i++) {
    const people = options.people[made.size % options.people.length] ?? 0;
    if (!(people >= 2 && people <= 5)) throw new RangeError(`Expected 2 to 5 people but received ${people}`);
    const puzzle = puzzleAt(options.seed, i, people);
    const question = puzzleText(puzzle, options.form);
    if (made.has(question)) continue;
    const [solution = []] = solutions(puzzle);
    const answer = solutionText(puzzle.names, solution);
    made.set(question, { id: `knights-${people}-${options.seed}-${i}`, question, answer, people, puzzle });
  }
  return [...made.values()];
}

/** The puzzle at an index of a seed's stream: candidates are drawn until one has exactly one solution. */
function puzzleAt(seed: number, index: number, people: number): Puzzle {
  for (let attempt = 0; ; attempt++) {
    let position = 0;
    const stream = { seed, purpose: PURPOSE.order, step: people, occurrence: index, sample: attempt };
    const below = (n: number): number => Math.floor(uniformAt(stream, position++) * n);
    const names = pick([...knightsNames], people, below);
    const statements = names.map((_, speaker) => ({ speaker, claim: randomClaim(speaker, people, below) }));
    const puzzle = { names, statements };
    if (solutions(puzzle).length === 1) return puzzle;
  }
}

function randomClaim(speaker: number, people: number, below: (n: number) => number): Claim {
  // "I am a knave" has no solution and "I am a knight" says nothing, so that a bare claim is about somebody else.
  const other = (): number => (speaker + 1 + below(people - 1)) % people;
  const is = (person: number): Claim => ({ kind: 'is', person, knight: below(2) === 1 });
  const shape = below(8);
  if (shape < 3) return is(other());
  if (shape < 4) return { kind: below(2) === 0 ? 'same' : 'differ', left: other(), right: speaker };
  const kind = (['and', 'or', 'if', 'iff'] as const)[shape - 4]!;
  const left = below(people);
  const right = (left + 1 + below(people - 1)) % people;
  return { kind, left: is(left), right: is(right) };
}

function pick<T>(list: T[], count: number, below: (n: number) => number): T[] {
  return Array.from({ length: count }, () => list.splice(below(list.length), 1)[0]!);
}
