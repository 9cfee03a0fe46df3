/** `vf sft`: supervised warm-up from a file of rows, or a recipe that makes a bundled model. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashData } from '../data/load.js';
import { readRows } from '../data/rows.js';
import { VfError } from '../errors.js';
import type { Row } from '../recipe/verifree-traces.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { SupervisedRow } from '../train/batch.js';
import { learningRate } from '../train/schedule.js';
import { runSupervised } from '../train/supervised.js';
import { DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import type { Job } from './job.js';
import { writeManifest } from './manifest.js';
import { bundledModel, deviceLine } from './open-model.js';
import { packageVersion } from './package.js';
import { checkpointSaver, openStart, stateOf } from './training-parts.js';

/** A stretch of steps with its own rows and learning rate. */
interface Stretch {
  rows: SupervisedRow[];
  batch: number;
  steps: number;
  lr: number;
  warmupSteps: number;
  floor: number;
  kind: 'constant' | 'cosine';
  wholeRow: boolean;
}

export async function runSft(job: Job<'sft'>): Promise<Record<string, unknown>> {
  const recipe =
    job.settings.recipe === null ? null : await openRecipe(job.settings.recipe, job.settings.seed);
  const start = recipe?.folder ?? job.settings.model;
  const model = await openStart({ ...job.settings, model: start }, job.store);
  const stretches = recipe
    ? await recipeStretches(recipe.phases, model.tokenizer)
    : await fileStretch(job, model.tokenizer);
  const steps = stretches.reduce((sum, stretch) => sum + stretch.steps, 0);
  const state = stateOf(job.store);
  const rows = stretches.reduce((sum, stretch) => sum + stretch.rows.length, 0);
  const { data, seed } = job.settings;
  await writeManifest(job.store, model, {
    ...(recipe
      ? { model: `recipe ${job.settings.recipe}` }
      : { data: { file: data, sha256: await hashData(data), rows } }),
    seed,
  });
  job.emit({
    event: 'start',
    command: 'sft',
    version: packageVersion(),
    device: deviceLine(model),
    banner: [
      {
        label: 'model',
        value: `${recipe ? `recipe ${job.settings.recipe}` : job.settings.model}, ${model.policy.info.parameters} parameters`,
      },
      { label: 'data', value: `${rows} rows` },
    ],
    settings: job.values,
    folder: job.store.folder,
    steps,
    ...(job.store.resumeFrom ? { resumedFrom: state.step } : {}),
  });
  const { optimizer } = recipe ?? { optimizer: optimizerOf(job) };
  const done = await runSupervised(
    {
      policy: model.policy,
      rowsAt: (step) => rowsAt(stretches, step),
      steps,
      wholeRow: stretches[0]!.wholeRow,
      rateAt: (step) => rateAt(stretches, step),
      optimizer,
      microBatchTokens: job.settings.microBatchTokens || DEFAULT_MICRO_BATCH,
      recompute: job.settings.recompute,
      evaluate: null,
      evalEvery: 0,
      save: checkpointSaver({
        store: job.store,
        model,
        frozen: {},
        cursor: null,
        keep: job.settings.keep,
        emit: job.emit,
      }),
      saveEvery: job.settings.saveEvery,
      stopRequested: () => job.interrupt.requested !== null,
      emit: job.emit,
    },
    state,
  );
  await model.policy.close();
  recipe?.dispose();
  return { steps: done.step, next: [`npx vf sample --model ${job.store.folder} --prompt "…"`] };
}

function optimizerOf(job: Job<'sft'>) {
  const { beta1, beta2, eps, weightDecay, clipNorm } = job.settings;
  return { beta1, beta2, eps, weightDecay, clipNorm };
}

async function openRecipe(name: string, seed: number) {
  const { recipeByName } = await import('../recipe/recipes.js');
  const { startFiles } = await import('../recipe/start-files.js');
  const recipe = recipeByName(name);
  const folder = mkdtempSync(join(tmpdir(), 'vf-recipe-'));
  mkdirSync(folder, { recursive: true });
  if (recipe.from === null) {
    for (const [file, content] of Object.entries(startFiles(recipe, seed)))
      writeFileSync(join(folder, file), content);
  }
  const phases = recipe.phases(seed);
  const { betas, weightDecay, clipNorm } = phases[0]!;
  const optimizer = { beta1: betas[0], beta2: betas[1], eps: 1e-8, weightDecay, clipNorm };
  return {
    folder: recipe.from === null ? folder : bundledModel(recipe.from),
    phases,
    optimizer,
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Phases = Awaited<ReturnType<typeof openRecipe>>['phases'];

async function recipeStretches(phases: Phases, tokenizer: Tokenizer): Promise<Stretch[]> {
  const stretches: Stretch[] = [];
  for (const phase of phases) {
    const rows = await encodeRows(phase.rows, tokenizer);
    stretches.push({
      rows,
      batch: phase.batch,
      steps: Math.ceil(rows.length / phase.batch),
      lr: phase.lr,
      warmupSteps: phase.warmupSteps,
      floor: phase.finalShare,
      kind: 'cosine',
      wholeRow: phase.lossOn === 'all',
    });
  }
  return stretches;
}

async function fileStretch(job: Job<'sft'>, tokenizer: Tokenizer): Promise<Stretch[]> {
  const { data, map, batchSize, maxTokens, lossOn, lr, lrSchedule, warmup, steps } = job.settings;
  const promptField = map.prompt ?? 'prompt';
  const completionField = map.completion ?? 'completion';
  const rows: Row[] = [];
  for await (const row of readRows(data)) {
    const [prompt, completion] = [row.value[promptField], row.value[completionField]];
    if (typeof prompt !== 'string' || typeof completion !== 'string' || completion === '') {
      throw new VfError(
        'VF_DATA',
        `row ${row.line} of ${row.file} has no ${typeof prompt === 'string' ? completionField : promptField}`,
        {
          file: row.file,
          line: row.line,
          expected: `strings in "${promptField}" and "${completionField}"`,
          hint: 'name other fields: --map completion=response',
        },
      );
    }
    rows.push({ prompt, completion });
  }
  const encoded = (await encodeRows(rows, tokenizer)).filter(
    (row) => row.promptIds.length + row.completionIds.length <= maxTokens,
  );
  if (encoded.length < rows.length) {
    job.emit({
      event: 'warning',
      code: 'VF_LONG_ROWS',
      message: `${rows.length - encoded.length} rows over ${maxTokens} tokens dropped`,
    });
  }
  if (encoded.length === 0)
    throw new VfError('VF_DATA', `Expected rows in ${data} but none is left`, { file: data });
  return [
    {
      rows: encoded,
      batch: batchSize,
      steps,
      lr,
      warmupSteps: warmup,
      floor: 0,
      kind: lrSchedule,
      wholeRow: lossOn === 'all',
    },
  ];
}

/** Prompts and completions as they stand: control tokens written in them count. */
async function encodeRows(rows: readonly Row[], tokenizer: Tokenizer): Promise<SupervisedRow[]> {
  const prompts = await tokenizer.encodePrompts(rows.map((row) => [{ literal: row.prompt }]));
  const completions = await tokenizer.encodeParts(rows.map((row) => [{ literal: row.completion }]));
  return rows.map((_, i) => ({ promptIds: prompts[i]!, completionIds: completions[i]! }));
}

function place(stretches: readonly Stretch[], step: number): { stretch: Stretch; within: number } {
  let within = step;
  for (const stretch of stretches) {
    if (within <= stretch.steps) return { stretch, within };
    within -= stretch.steps;
  }
  throw new RangeError(`step ${step} lies behind the last stretch`);
}

/** Rows in file order, again from the top when they run out. */
function rowsAt(stretches: readonly Stretch[], step: number): SupervisedRow[] {
  const { stretch, within } = place(stretches, step);
  const { rows, batch } = stretch;
  const from = (within - 1) * batch;
  const count = Math.min(batch, Math.max(1, rows.length));
  return Array.from({ length: count }, (_, i) => rows[(from + i) % rows.length]!);
}

function rateAt(stretches: readonly Stretch[], step: number): number {
  const { stretch, within } = place(stretches, step);
  const { kind, lr, warmupSteps, steps, floor } = stretch;
  return learningRate({ kind, lr, warmupSteps, totalSteps: steps, floor }, within);
}
