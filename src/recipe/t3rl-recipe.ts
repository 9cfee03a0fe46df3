/** Recipes of the bundled test-time model and of three bad verifiers that are measured beside it. */

import type { KnightsQuestion } from '../data/knights.js';
import {
  copyRow,
  drillRow,
  freeProblem,
  type ProgramShares,
  policyRow,
  usualShares,
  VERIFIER_TEXTS,
  verifierRow,
} from './biased-rows.js';
import { biasedSets } from './biased-sets.js';
import { plainTexts, trainBpe, type Vocabulary } from './bpe.js';
import { type Draw, draw, STREAM } from './draw.js';
import { puzzleRow, warmUpPuzzles } from './knights-rows.js';
import type { Phase, Recipe, Shape } from './recipe.js';
import type { Row } from './verifree-traces.js';

const SHAPE: Shape = {
  hidden: 96,
  layers: 3,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  ffn: 256,
  ropeTheta: 10000,
  maxPositions: 512,
};

const ROWS = 134_400;
const BATCH = 48;
const PUZZLES = 10_000;
/** Shares of the warm-up: drills, answers, programs; the rest are puzzles. */
const SHARES = { drills: 0.28, answers: 0.34, programs: 0.18 } as const;

/** The bundled model: policy and verifier in one, and a beginner at puzzles. */
export const tinyT3rlRecipe: Recipe = {
  name: 'tiny-t3rl',
  from: null,
  shape: SHAPE,
  initialization: { embeddingStd: 0.1, outputScale: 0.1 },
  vf: { template: 'tiny', verifier: VERIFIER_TEXTS },
  vocabulary,
  phases: (seed) => [phase('warm-up', rowsOf(seed, STREAM.skills, ROWS, mixedRow(PUZZLES, seed)), 3e-3)],
};

/** A verifier that was taught the same wrong rules as the policy. */
export const wrongRuleVerifier: Recipe = badVerifier('verifier-wrong-rule', (draws, held) =>
  verifierRow(draws, freeProblem(draws, held), biasedPrograms),
);

/** A verifier that prints the trace's own answer. */
export const copyingVerifier: Recipe = badVerifier('verifier-copying', (draws, held) =>
  copyRow(draws, freeProblem(draws, held)),
);

/** A verifier whose warm-up stopped early: most of its programs give nothing. */
export const underTrainedVerifier: Recipe = {
  ...tinyT3rlRecipe,
  name: 'verifier-under-trained',
  phases: (seed) => [phase('warm-up', rowsOf(seed, STREAM.skills, 4800, mixedRow(500, seed)), 3e-3)],
};

const biasedPrograms: ProgramShares = () => [0.12, 0.75];

type RowMaker = (draws: Draw, held: ReadonlySet<string>) => Row;

function mixedRow(puzzles: number, seed: number): RowMaker {
  const puzzle: KnightsQuestion[] = warmUpPuzzles(seed, puzzles);
  return (draws, held) => {
    const place = draws.unit();
    if (place < SHARES.drills) return drillRow(draws, held);
    if (place < SHARES.drills + SHARES.answers) return policyRow(draws, freeProblem(draws, held));
    if (place < SHARES.drills + SHARES.answers + SHARES.programs)
      return verifierRow(draws, freeProblem(draws, held), usualShares);
    return puzzleRow(draws, draws.pick(puzzle));
  };
}

function badVerifier(name: string, make: RowMaker): Recipe {
  return {
    ...tinyT3rlRecipe,
    name,
    from: 'tiny-t3rl',
    phases: (seed) => [phase(name, rowsOf(seed, STREAM.verifier, 9600, make), 1e-3)],
  };
}

function rowsOf(seed: number, stream: number, count: number, make: RowMaker): Row[] {
  const { held } = biasedSets();
  return Array.from({ length: count }, (_, i) => make(draw(seed, stream, i), held));
}

function phase(name: string, rows: Row[], lr: number): Phase {
  return {
    name,
    rows,
    batch: BATCH,
    lr,
    warmupSteps: 50,
    finalShare: 0.03,
    betas: [0.9, 0.98],
    weightDecay: 0.01,
    clipNorm: 1,
    lossOn: 'completion',
  };
}

function vocabulary(): Vocabulary {
  const rows = rowsOf(0, STREAM.tokenizer, 8000, mixedRow(1000, 0));
  return trainBpe(plainTexts(rows), { size: 512, minCount: 40 });
}
