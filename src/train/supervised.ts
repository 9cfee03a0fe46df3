/** Supervised training: batches of prompt and completion, the loss a mean over their tokens. Same engine step as the loop. */

import type { Policy } from '../native/policy.js';
import type { OptimizerArgs, StepArgs } from '../native/types.js';
import type { Emit, Metrics } from '../run/events.js';
import { packRows, type SupervisedRow } from './batch.js';
import type { LoopState } from './loop.js';

export interface SupervisedParts {
  policy: Policy;
  /** The rows of a step (1-based): a pure function, so that a resume sees the same rows. */
  rowsAt(step: number): SupervisedRow[];
  steps: number;
  /** Loss on the prompt's tokens too. */
  wholeRow: boolean;
  /** The learning rate of a step (1-based). */
  rateAt(step: number): number;
  optimizer: Omit<OptimizerArgs, 'lr' | 'updatesDone'>;
  microBatchTokens: number;
  recompute: boolean;
  evaluate: ((policy: Policy, step: number) => Promise<Metrics>) | null;
  evalEvery: number;
  save(state: LoopState): Promise<void>;
  saveEvery: number;
  stopRequested(): boolean;
  emit: Emit;
}

/** Runs from `state` to the last step, or until asked to stop. Returns the state reached. */
export async function runSupervised(parts: SupervisedParts, state: LoopState): Promise<LoopState> {
  const { emit, evaluate, policy } = parts;
  const now = { ...state };
  if (evaluate && now.step === 0) emit({ event: 'eval', step: 0, metrics: await evaluate(policy, 0) });
  let saved = now.step;
  while (now.step < parts.steps && !parts.stopRequested()) {
    const step = now.step + 1;
    const metrics = await supervisedStep(parts, step, now);
    now.step = step;
    now.updates++;
    emit({ event: 'step', step, metrics });
    const last = step === parts.steps;
    if (evaluate && (last || (parts.evalEvery > 0 && step % parts.evalEvery === 0))) {
      emit({ event: 'eval', step, metrics: await evaluate(policy, step) });
    }
    if (last || (parts.saveEvery > 0 && step % parts.saveEvery === 0)) {
      await parts.save(now);
      saved = step;
    }
  }
  if (saved !== now.step) await parts.save(now);
  return now;
}

async function supervisedStep(parts: SupervisedParts, step: number, state: LoopState): Promise<Metrics> {
  const started = performance.now();
  const lr = parts.rateAt(step);
  const { wholeRow, microBatchTokens, recompute } = parts;
  const optimizer = { ...parts.optimizer, lr, updatesDone: state.updates };
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
