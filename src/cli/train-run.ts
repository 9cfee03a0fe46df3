/** `vf train`: runs VeriFree, or a probe of whether model and data carry signal. */

import type { Resolved } from '../config/resolve.js';
import { requireFree } from '../run/disk.js';
import type { EventBody } from '../run/events.js';
import { type LoopParts, runLoop } from '../train/loop.js';
import { measureSignal, probe } from '../train/probe.js';
import type { Job } from './job.js';
import { writeManifest } from './manifest.js';
import { deviceLine } from './open-model.js';
import { packageVersion } from './package.js';
import { loopParts, setUpTraining, type TrainSetup } from './train-parts.js';
import { taskRecords, warnAboutTasks } from './training-tasks.js';

/** Trains; the summary carries accuracy before and after, the report's path and what to do next. */
export async function runTrain(job: Job<'train'>): Promise<Record<string, unknown>> {
  const { settings, store, emit } = job;
  emit({ event: 'progress', phase: 'loading', done: 0, total: 1, unit: '' });
  const setup = await setUpTraining(job, store);
  await writeManifest(store, setup.model, {
    data: { file: setup.data.file, sha256: setup.data.hash, questions: setup.data.questions.length },
    ...(setup.tasks.length > 0 ? { tasks: taskRecords(setup.tasks) } : {}),
    seed: settings.seed,
  });
  emit(startEvent(job, setup));
  warn(setup, emit);
  if (settings.resume && store.resumeFrom === null) {
    emit({
      event: 'warning',
      code: 'VF_RESUME_FROM_START',
      message: 'the run was ended before its first checkpoint: it starts again at step 0',
    });
  }
  requireFree(store.folder, checkpointBytes(setup) * (settings.keep + 1), 'checkpoints');
  const parts = await loopParts(settings, setup, store, emit, job.interrupt);
  const evaluations: Record<string, number>[] = [];
  const watched = {
    ...parts,
    emit: (event: EventBody) => {
      if (event.event === 'eval') evaluations.push(event.metrics);
      emit(event);
    },
    firstLook: async (...look: Look) => {
      const { metrics, advice } = await measureSignal(parts, ...look);
      emit({ event: 'step', step: 0, metrics });
      if ((metrics['groups/with_signal'] ?? 0) >= 0.1) return;
      for (const message of advice) emit({ event: 'warning', code: 'VF_NO_SIGNAL', message });
    },
  };
  const reached = await runLoop(watched, setup.state);
  await setup.reference?.model.policy.close();
  await setup.model.policy.close();
  const model = `--model ${store.folder}`;
  return {
    steps: reached.step,
    before: evaluations[0] ?? null,
    after: evaluations.length > 1 ? evaluations[evaluations.length - 1] : null,
    next: [
      `npx vf sample ${model} --prompt ${JSON.stringify(setup.data.questions[0]!.question)}`,
      settings.data === 'bundled'
        ? `npx vf eval bundled ${model}`
        : `npx vf eval jsonl --data ${settings.data} ${model}`,
      ...(settings.model === 'bundled'
        ? ['npx vf train --model PATH --data YOUR.jsonl --preset verifree-1.7b']
        : []),
    ],
  };
}

/** `vf train --probe N`: samples N groups, updates nothing. */
export async function runProbe(
  job: Resolved<'train'> & Pick<Job<'train'>, 'emit' | 'interrupt'>,
): Promise<Record<string, unknown>> {
  const { settings, emit } = job;
  const setup = await setUpTraining(job, null);
  emit(startEvent({ ...job, store: null }, setup));
  warn(setup, emit);
  const parts = await loopParts(settings, setup, null, emit, job.interrupt);
  const { metrics, advice } = await probe({ ...parts, promptsPerStep: settings.probe });
  emit({ event: 'step', step: 0, metrics });
  await setup.reference?.model.policy.close();
  await setup.model.policy.close();
  return { metrics, advice };
}

type Look = Parameters<NonNullable<LoopParts['firstLook']>>;

const TITLES = {
  verifree: 'VeriFree (Eq. 7)',
  jlb: 'JLB',
  latro: 'LaTRO',
  verifier: 'rule verifier, Dr. GRPO',
} as const;

function startEvent(
  job: Pick<Job<'train'>, 'settings' | 'values'> & { store: Job<'train'>['store'] | null },
  setup: TrainSetup,
): EventBody {
  const { settings } = job;
  const { model, data, heldOut, tasks, border } = setup;
  const { spec, eosIds, notes } = model.folder;
  const { parameters } = model.policy.info;
  const number = (value: number) => value.toLocaleString('en-US');
  const held = [
    ...heldOut.map(({ task, set }) => `${number(set.questions.length)} ${task}`),
    ...tasks.map(({ metric, prepared }) => `${number(prepared.length)} ${metric}`),
  ].join(', ');
  const dropped = Object.entries(data.dropped).map(([rule, count]) => `${count} ${rule}`);
  const name = settings.model === 'bundled' ? 'bundled tiny' : settings.model;
  return {
    event: 'start',
    command: 'train',
    version: packageVersion(),
    device: `${TITLES[settings.objective]} · ${deviceLine(model)}`,
    banner: [
      {
        label: 'model',
        value: `${name} (${spec.family}, ${(parameters / 1e6).toFixed(1)} M parameters, ${model.dtype})`,
      },
      {
        label: 'data',
        value: `${number(data.questions.length)} questions${dropped.length > 0 ? `, dropped: ${dropped.join(', ')}` : ''}${held ? `; held out: ${held}` : ''}`,
      },
      {
        label: 'step',
        value: `${settings.promptsPerStep} questions × ${settings.groupSize} traces, ≤ ${number(settings.maxTokens)} tokens, T ${settings.temperature}`,
      },
      {
        label: 'update',
        value: `lr ${settings.lr} ${settings.lrSchedule}, AdamW, norm ≤ ${settings.clipNorm}, reward ${settings.reward}, advantage ${settings.advantage}, answer weight ${settings.answerWeight}; seed ${settings.seed}`,
      },
      {
        label: 'border',
        value: `${JSON.stringify(border.border)}: ${border.spanning.length} of ${number(border.tokens)} tokens span it, ${border.overrunning.length} run past it; end of text ${eosIds.join(', ') || 'none'}`,
      },
      ...notes.map((note) => ({ label: 'note', value: note })),
      ...(settings.forceBorder
        ? [{ label: 'note', value: 'the border is forced on traces without one (--force-border): for tests' }]
        : []),
    ],
    settings: job.values,
    folder: job.store?.folder ?? null,
    steps: settings.steps,
    ...(job.store?.resumeFrom ? { resumedFrom: setup.state.step } : {}),
  };
}

/** Weights, both moments, and the f32 masters where weights are stored in bf16. */
function checkpointBytes({ model }: TrainSetup): number {
  return model.policy.info.parameters * (model.dtype === 'f32' ? 12 : 14);
}

function warn(setup: TrainSetup, emit: (event: EventBody) => void): void {
  for (const [rule, count] of Object.entries(setup.data.dropped)) {
    emit({ event: 'warning', code: 'VF_DROPPED', message: `${count} questions dropped: ${rule}` });
  }
  warnAboutTasks(emit, setup.tasks);
}
