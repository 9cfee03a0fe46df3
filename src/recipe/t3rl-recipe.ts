/** Recipes of the bundled test-time model and of three bad verifiers that are measured beside it. */

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

const ROWS = 110_016;
const BATCH = 48;
/** Shares of the warm-up: drills, then answers; the rest are programs. */
const DRILLS = 0.35;
const ANSWERS = 0.42;

/** The bundled model: policy and verifier in one. */
export const tinyT3rlRecipe: Recipe = {
  name: 'tiny-t3rl',
  from: null,
  shape: SHAPE,
  initialization: { embeddingStd: 0.1, outputScale: 0.1 },
  vf: { template: 'tiny', verifier: VERIFIER_TEXTS },
  vocabulary,
  phases: (seed) => [phase('warm-up', rowsOf(seed, STREAM.skills, ROWS, mixedRow), 3e-3)],
};

/** A verifier that was taught the same wrong rules as the policy. */
export const wrongRuleVerifier: Recipe = badVerifier('verifier-wrong-rule', 9600, (draws, held) =>
  verifierRow(draws, freeProblem(draws, held), biasedPrograms),
);

/** A verifier that prints the trace's own answer. */
export const copyingVerifier: Recipe = badVerifier('verifier-copying', 9600, (draws, held) =>
  copyRow(draws, freeProblem(draws, held)),
);

/** A verifier whose warm-up stopped early: most of its programs give nothing. */
export const underTrainedVerifier: Recipe = {
  ...tinyT3rlRecipe,
  name: 'verifier-under-trained',
  phases: (seed) => [phase('warm-up', rowsOf(seed, STREAM.skills, 4800, mixedRow), 3e-3)],
};

const biasedPrograms: ProgramShares = () => [0.12, 0.75];

type RowMaker = (draws: Draw, held: ReadonlySet<string>) => Row;

function mixedRow(draws: Draw, held: ReadonlySet<string>): Row {
  const place = draws.unit();
  if (place < DRILLS) return drillRow(draws, held);
  const problem = freeProblem(draws, held);
  return place < DRILLS + ANSWERS ? policyRow(draws, problem) : verifierRow(draws, problem, usualShares);
}

function badVerifier(name: string, count: number, make: RowMaker): Recipe {
  return {
    ...tinyT3rlRecipe,
    name,
    from: tinyT3rlRecipe.name,
    phases: (seed) => [phase(name, rowsOf(seed, STREAM.verifier, count, make), 1e-3)],
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
  const rows = rowsOf(0, STREAM.tokenizer, 8000, mixedRow);
  return trainBpe(plainTexts(rows), { size: 448, minCount: 40 });
}
