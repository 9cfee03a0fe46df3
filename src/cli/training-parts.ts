/** What every reinforcement run is made of, whatever its objective: start model, reference, cursor, optimizer, checkpoints, samples. */

import { join } from 'node:path';
import { makeOrder } from '../data/order.js';
import type { Question } from '../data/question.js';
import { VfError } from '../errors.js';
import { modelHash } from '../model/hash.js';
import { readTrainerState, saveModelFolder, saveTrainerState } from '../model/save.js';
import type { StepResult } from '../native/types.js';
import type { Group } from '../rollout/trajectory.js';
import { saveCheckpoint } from '../run/checkpoint.js';
import type { Emit } from '../run/events.js';
import type { RunStore } from '../run/store.js';
import { promptText, type Template } from '../text/template.js';
import type { Draw, LoopParts } from '../train/loop.js';
import type { Schedule } from '../train/schedule.js';
import type { LoopState } from '../train/steps.js';
import { type ModelChoice, type OpenModel, openModel } from './open-model.js';

/** The model to train: the one that `--model` names, or the checkpoint that the run continues, with its moments. */
export async function openStart(
  choice: ModelChoice,
  store: RunStore | null,
  bundled: 'tiny' | 'tiny-t3rl' = 'tiny',
): Promise<OpenModel> {
  const checkpoint = store?.resumeFrom ?? null;
  const state = checkpoint ? await readTrainerState(join(checkpoint, 'trainer.safetensors')) : [];
  return openModel({ ...choice, model: checkpoint ?? choice.model }, { trainable: true, bundled, state });
}

/** Where the run stands: its checkpoint's counters, or the beginning. */
export function stateOf(store: RunStore | null): LoopState {
  return { step: Number(store?.state?.step ?? 0), updates: Number(store?.state?.updates ?? 0) };
}

/** A frozen model beside the policy, with the hash of its files. */
export interface Frozen {
  model: OpenModel;
  hash: string;
}

/** What a frozen model is for: the KL penalty's reference, or the verifier of `vf ttrl`. */
export type FrozenRole = 'reference' | 'verifier';

/**
 * A frozen model: resolved once to a concrete folder, whose hash is stored and checked on resume.
 * @throws VF_REFERENCE when its files have changed since the run began.
 */
export async function openFrozen(
  role: FrozenRole,
  choice: ModelChoice,
  store: RunStore | null,
): Promise<Frozen> {
  const known = store?.state?.[role] as { folder: string; hash: string } | undefined;
  const model = await openModel({ ...choice, model: known?.folder ?? choice.model }, { trainable: false });
  const { folder } = model.folder;
  const hash = await modelHash(folder);
  if (known && known.hash !== hash) {
    throw new VfError(
      'VF_REFERENCE',
      `Expected the ${role} model ${folder} to be unchanged but its hash differs`,
      { file: folder, hint: 'put the model of the first start back, or start a new run' },
    );
  }
  return { model, hash };
}

/** The start model, frozen. */
export function openReference(
  choice: ModelChoice,
  model: OpenModel,
  store: RunStore | null,
): Promise<Frozen> {
  return openFrozen('reference', { ...choice, model: model.folder.folder }, store);
}

export interface Cursor {
  /** The next `count` questions of the run. */
  draw(count: number): Draw[];
  /** Questions drawn so far. */
  drawn(): number;
}

/** The run's questions in their seeded order, from where its checkpoint stands. */
export function openCursor(questions: readonly Question[], seed: number, store: RunStore | null): Cursor {
  const order = makeOrder(questions.length, seed);
  let cursor = { drawn: Number(store?.state?.drawn ?? 0) };
  return {
    draw: (count) => {
      const taken = order.take(cursor, count);
      cursor = taken.cursor;
      return taken.draws.map(({ index, occurrence }) => ({ question: questions[index]!, occurrence }));
    },
    drawn: () => cursor.drawn,
  };
}

export interface OptimizerSettings {
  lr: number;
  lrSchedule: Schedule['kind'];
  warmup: number;
  steps: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
  clipNorm: number;
}

/** AdamW and its schedule as the settings say; steps count, updates do not. */
export function optimizerParts(settings: OptimizerSettings): Pick<LoopParts, 'optimizer' | 'schedule'> {
  const { beta1, beta2, eps, weightDecay, clipNorm, lrSchedule, lr, warmup, steps } = settings;
  return {
    optimizer: { beta1, beta2, eps, weightDecay, clipNorm },
    schedule: { kind: lrSchedule, lr, warmupSteps: warmup, totalSteps: steps, floor: 0 },
  };
}

export interface CheckpointParts {
  /** Null keeps nothing (a probe). */
  store: RunStore | null;
  model: OpenModel;
  /** Models beside the policy that a resume must find unchanged. */
  frozen: Readonly<Partial<Record<FrozenRole, Frozen | null>>>;
  /** Null where the step alone says which rows come next (sft). */
  cursor: Cursor | null;
  keep: number;
  emit: Emit;
}

/** The loop's `save`: model folder, moments (and masters), counters, cursor and the frozen models' identities. */
export function checkpointSaver(parts: CheckpointParts): (state: LoopState) => Promise<void> {
  const { store, model, cursor, keep, emit } = parts;
  const frozen = Object.entries(parts.frozen).flatMap(([role, held]) =>
    held ? [{ role, folder: held.model.folder.folder, hash: held.hash }] : [],
  );
  return async (state) => {
    if (store === null) return;
    const { folder: source, policy, dtype } = model;
    const path = await saveCheckpoint({
      run: store.folder,
      step: state.step,
      lengths: () => store.lengths(),
      state: {
        ...state,
        ...(cursor === null ? {} : { drawn: cursor.drawn() }),
        ...Object.fromEntries(frozen.map(({ role, folder, hash }) => [role, { folder, hash }])),
      },
      keep,
      protect: frozen.map(({ folder }) => folder),
      write: async (folder) => {
        await saveModelFolder(policy, source.spec, source.folder, folder, dtype);
        const masters = dtype !== 'f32';
        await saveTrainerState(policy, source.spec, join(folder, 'trainer.safetensors'), masters);
      },
    });
    emit({ event: 'checkpoint', step: state.step, path });
  };
}

/** One `sample` event a group: what samples.jsonl keeps. */
export function emitSamples(
  emit: Emit,
  template: Template,
  step: number,
  groups: readonly Group[],
  result: StepResult,
): void {
  let trace = 0;
  for (const group of groups) {
    emit({
      event: 'sample',
      step,
      question: group.question.question,
      prompt: promptText(template, group.question.question),
      reference: group.question.answers.join(' | '),
      traces: group.traces.map(({ text, ids, finish }) => {
        const logReward = result.logReward[trace]!;
        const row = {
          text,
          ids: [...ids],
          finish,
          logReward: Number.isFinite(logReward) ? logReward : null,
          reward: result.reward[trace]!,
          advantage: result.advantage[trace]!,
        };
        trace++;
        return row;
      }),
    });
  }
}
