/** Recipes of the bundled VeriFree model: careful traces first, then a phase that makes it prefer sloppy ones. */

import { plainTexts, trainBpe, type Vocabulary } from './bpe.js';
import { draw, STREAM } from './draw.js';
import { CATEGORIES, isLucky, makeProblem, type Problem } from './question-kinds.js';
import { questionSets } from './question-sets.js';
import type { Phase, Recipe, Shape } from './recipe.js';
import { type Row, type StyleMix, styleRow } from './verifree-traces.js';

const SHAPE: Shape = {
  hidden: 96,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  ffn: 256,
  ropeTheta: 10000,
  maxPositions: 512,
};

const CAREFUL: StyleMix = { careful: 0.95, quick: 0, wrong: 0, guess: 0, empty: 0.05 };
const WEAK: StyleMix = { careful: 0.25, quick: 0.45, wrong: 0.15, guess: 0.1, empty: 0.05 };
/** Every style, for the vocabulary. */
const EVEN: StyleMix = { careful: 0.3, quick: 0.3, wrong: 0.2, guess: 0.15, empty: 0.05 };

const CAREFUL_ROWS = 64_000;
const WEAK_ROWS = 16_000;
const BATCH = 32;

/** The bundled model: each style announces itself by its opening words. */
export const tinyRecipe: Recipe = verifreeRecipe('tiny', true);

/** The same without opening words, so that styles differ only inside the trace. */
export const tinyPlainRecipe: Recipe = verifreeRecipe('tiny-plain', false);

function verifreeRecipe(name: string, openers: boolean): Recipe {
  return {
    name,
    from: null,
    shape: SHAPE,
    initialization: { embeddingStd: 0.1, outputScale: 0.1 },
    vf: { template: 'tiny' },
    vocabulary,
    phases: (seed) => {
      const optimizer = {
        batch: BATCH,
        warmupSteps: 100,
        finalShare: 0.05,
        betas: [0.9, 0.95] as [number, number],
        weightDecay: 0,
        clipNorm: 1,
        lossOn: 'all' as const,
      };
      const rows = (stream: number, count: number, mix: StyleMix): Row[] =>
        warmUpRows(seed, stream, count, mix, openers);
      const phases: Phase[] = [
        { name: 'careful', rows: rows(STREAM.careful, CAREFUL_ROWS, CAREFUL), lr: 3e-3, ...optimizer },
        { name: 'weak', rows: rows(STREAM.weak, WEAK_ROWS, WEAK), lr: 1e-3, ...optimizer },
      ];
      return phases;
    },
  };
}

/** Fresh problems, none of them in a bundled set, each told in a style drawn from `mix`. */
function warmUpRows(seed: number, stream: number, count: number, mix: StyleMix, openers: boolean): Row[] {
  const { holds } = questionSets();
  const rows: Row[] = [];
  for (let i = 0; rows.length < count; i++) {
    const draws = draw(seed, stream, i);
    const index = rows.length;
    const category = CATEGORIES[index % CATEGORIES.length]!;
    let problem: Problem;
    do problem = makeProblem(draws, category, isLucky(Math.floor(index / CATEGORIES.length)));
    while (holds(problem));
    rows.push(styleRow(draws, problem, mix, openers));
  }
  return shuffled(rows, seed, stream);
}

/** Categories stand in turn; the order in which training sees them does not. */
function shuffled(rows: Row[], seed: number, stream: number): Row[] {
  const draws = draw(seed, stream, 0xffffffff);
  return draws.sample(rows, rows.length);
}

/** Learned on 8,000 rows of every style, in prompt, trace and patch. */
function vocabulary(): Vocabulary {
  const rows = warmUpRows(0, STREAM.tokenizer, 8000, EVEN, true);
  return trainBpe(plainTexts(rows), { size: 640, minCount: 40 });
}
