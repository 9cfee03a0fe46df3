/** Supervised training: batches of prompt and completion, the loss a mean over their tokens. Same engine step as the loop. */

import type { StepArgs } from '../native/types.js';
import type { Metrics } from '../run/events.js';
import { packRows, type SupervisedRow } from './batch.js';
import { type LoopState, runSteps, type StepParts } from './steps.js';

export interface SupervisedParts extends StepParts {
  /** The rows of a step (1-based): a pure function, so that a resume sees the same rows. */
  rowsAt(step: number): SupervisedRow[];
  /** Loss on the prompt's tokens too. */
  wholeRow: boolean;
  /** The learning rate of a step (1-based). */
  rateAt(step: number): number;
}

/** Runs from `state` to the last step, or until asked to stop. Returns the state reached. */
export function runSupervised(parts: SupervisedParts, state: LoopState): Promise<LoopState> {
  return runSteps(parts, state, async (step, updatesDone) => {
    parts.emit({ event: 'step', step, metrics: await supervisedStep(parts, step, updatesDone) });
    return 1;
  });
}

async function supervisedStep(parts: SupervisedParts, step: number, updatesDone: number): Promise<Metrics> {
  const started = performance.now();
  const lr = parts.rateAt(step);
  const { wholeRow, microBatchTokens, recompute } = parts;
  const optimizer = { ...parts.optimizer, lr, updatesDone };
  const result = await parts.policy.step(
    supervisedArgs(parts.rowsAt(step), { wholeRow, microBatchTokens, recompute, optimizer, update: true }),
  );
  const seconds = (performance.now() - started) / 1000;
  return {
    'loss/mean': -result.weightedLogprob,
    'grad/norm': result.gradNorms[0] ?? 0,
    'optimizer/lr': lr,
    'tokens/trained': result.tokensComputed,
    'time/step': seconds,
    tokens_per_s: result.tokensComputed / seconds,
  };
}

/** The engine's arguments for one supervised step: plain weights, the loss a mean over the learnt tokens. */
export function supervisedArgs(
  rows: readonly SupervisedRow[],
  settings: Pick<StepArgs, 'update' | 'microBatchTokens' | 'recompute' | 'optimizer'> & { wholeRow: boolean },
): StepArgs {
  const { wholeRow, ...rest } = settings;
  return {
    ...packRows(rows, wholeRow),
    given: new Float32Array(0),
    refLogprobs: new Float32Array(0),
    reward: 'given',
    rewardExponent: 1,
    advantage: 'none',
    answerWeight: 'none',
    lengthDivisor: 1,
    normalize: 'tokens',
    terms: 'both',
    temperature: 1,
    clipLow: -1,
    clipHigh: -1,
    dualClip: 0,
    klCoefficient: 0,
    tisCap: 0,
    epochs: 1,
    miniBatches: 1,
    ...rest,
  };
}
