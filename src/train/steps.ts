/** What every training run shares, whatever a step does: count steps, evaluate and save when due, stop when asked to. */

import type { Policy } from '../native/policy.js';
import type { OptimizerArgs } from '../native/types.js';
import type { Emit, Metrics } from '../run/events.js';

/** What a checkpoint must hold besides weights and moments. */
export interface LoopState {
  /** Steps done. */
  step: number;
  /** Optimizer updates done. */
  updates: number;
}

export interface StepParts {
  policy: Policy;
  optimizer: Omit<OptimizerArgs, 'lr' | 'updatesDone'>;
  steps: number;
  microBatchTokens: number;
  recompute: boolean;
  /** Held-out metrics at `step`; called at step 0, every `evalEvery` steps and after the last. */
  evaluate: ((policy: Policy, step: number) => Promise<Metrics>) | null;
  evalEvery: number;
  save(state: LoopState): Promise<void>;
  saveEvery: number;
  /** True once a person asked to stop: the step in hand is finished and saved. */
  stopRequested(): boolean;
  emit: Emit;
}

/**
 * Runs steps from `state` to the last one, or until asked to stop. Returns the state reached.
 * @param work does step `step` (1-based) after `updatesDone` updates, reports it, and returns how many updates it made.
 */
export async function runSteps(
  parts: StepParts,
  state: LoopState,
  work: (step: number, updatesDone: number) => Promise<number>,
): Promise<LoopState> {
  const { emit, evaluate, policy } = parts;
  const now = { ...state };
  if (evaluate && now.step === 0) emit({ event: 'eval', step: 0, metrics: await evaluate(policy, 0) });
  let saved = now.step;
  while (now.step < parts.steps && !parts.stopRequested()) {
    const step = now.step + 1;
    now.updates += await work(step, now.updates);
    now.step = step;
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
