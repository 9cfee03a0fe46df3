/** Wires `vf train`: model, questions, objective, evaluation and checkpoints into the parts of the loop. */

import { join } from 'node:path';
import type { Resolved } from '../config/resolve.js';
import { makeOrder } from '../data/order.js';
import { evaluateQuestions, evaluationMetrics } from '../eval/evaluate.js';
import { modelHash } from '../model/hash.js';
import { readTrainerState, saveModelFolder, saveTrainerState } from '../model/save.js';
import type { Policy } from '../native/policy.js';
import type { StepResult } from '../native/types.js';
import { verifree } from '../objective/verifree.js';
import { PURPOSE } from '../random.js';
import type { Group } from '../rollout/trajectory.js';
import { saveCheckpoint } from '../run/checkpoint.js';
import type { Emit, Metrics } from '../run/events.js';
import type { RunStore } from '../run/store.js';
import { requireBorder } from '../text/patch.js';
import { closingTag } from '../text/template.js';
import type { LoopParts, LoopState } from '../train/loop.js';
import type { Interrupt } from './interrupt.js';
import { type OpenModel, openModel } from './open-model.js';
import { bundledQuestions, openQuestions, prompter, type QuestionSet } from './question-set.js';

type Settings = Resolved<'train'>['settings'];

/** Traces decoded together and tokens of a training pass when the user leaves the choice to the engine. */
const DEFAULT_BATCH = 128;
const DEFAULT_MICRO_BATCH = 4096;

export interface TrainSetup {
  model: OpenModel;
  reference: OpenModel | null;
  data: QuestionSet;
  /** Held-out sets by task name; `always` ones are measured at every evaluation, others before and after only. */
  heldOut: { task: string; set: QuestionSet; always: boolean }[];
  border: ReturnType<typeof requireBorder>;
  state: LoopState;
}

/** Loads all that a run needs, from its start model or from the checkpoint it continues. */
export async function setUpTraining(settings: Settings, store: RunStore | null): Promise<TrainSetup> {
  const checkpoint = store?.resumeFrom ?? null;
  const model = await openModel(
    { ...settings, model: checkpoint ?? settings.model },
    {
      trainable: true,
      state: checkpoint ? await readTrainerState(join(checkpoint, 'trainer.safetensors')) : [],
    },
  );
  const border = requireBorder(model.tokenizer, model.template);
  const bundled = settings.data === 'bundled';
  const open = (file: string) => openQuestions(file, settings.map, model, settings.maxPromptTokens);
  const data = await open(bundled ? bundledQuestions('train') : settings.data);
  const heldOut: TrainSetup['heldOut'] = [];
  if (settings.evalData !== null) {
    heldOut.push({ task: 'held-out', set: await open(settings.evalData), always: true });
  } else if (bundled) {
    heldOut.push({
      task: 'bundled-validation',
      set: await open(bundledQuestions('validation')),
      always: true,
    });
    heldOut.push({ task: 'bundled-test', set: await open(bundledQuestions('test')), always: false });
  }
  const state = { step: Number(store?.state?.step ?? 0), updates: Number(store?.state?.updates ?? 0) };
  const reference = settings.kl > 0 ? await openReference(settings, model, store) : null;
  return { model, reference, data, heldOut, border, state };
}

/** The start model, frozen: resolved once to a concrete folder whose hash is stored and checked on resume. */
async function openReference(
  settings: Settings,
  model: OpenModel,
  store: RunStore | null,
): Promise<OpenModel> {
  const known = store?.state?.reference as { folder: string; hash: string } | undefined;
  const folder = known?.folder ?? model.folder.folder;
  const reference = await openModel({ ...settings, model: folder }, { trainable: false });
  const hash = await modelHash(folder);
  if (known && known.hash !== hash) {
    const { VfError } = await import('../errors.js');
    throw new VfError(
      'VF_REFERENCE',
      `Expected the reference model ${folder} to be unchanged but its hash differs`,
      {
        file: folder,
        hint: 'put the model of the first start back, or start a new run',
      },
    );
  }
  return reference;
}

/** The objective that the settings name. */
export function objectiveOf(settings: Settings) {
  return verifree({
    groupSize: settings.groupSize,
    reward: settings.reward,
    rewardExponent: settings.rewardExponent,
    advantage: settings.advantage,
    answerWeight: settings.answerWeight,
    lengthDivisor:
      settings.lengthNorm === 'none'
        ? 1
        : settings.lengthNorm === 'max_tokens'
          ? settings.maxTokens
          : settings.lengthNorm,
    epochs: settings.epochs,
    miniBatches: settings.miniBatches,
    clip: typeof settings.clip === 'number' ? settings.clip : -1,
    tisCap: settings.tisCap === 'none' ? 0 : settings.tisCap,
    kl: settings.kl,
  });
}

/** The loop's parts for a setup. @param store null for a probe, which saves nothing. */
export async function loopParts(
  settings: Settings,
  setup: TrainSetup,
  store: RunStore | null,
  emit: Emit,
  interrupt: Interrupt,
): Promise<LoopParts> {
  const { model, data, heldOut, reference } = setup;
  const { tokenizer, template } = model;
  const decode = (ids: Int32Array) => tokenizer.decode(ids, { special: true });
  const order = makeOrder(data.questions.length, settings.seed);
  let drawn = Number(store?.state?.drawn ?? 0);
  const rollout = {
    seed: BigInt(settings.seed),
    purpose: PURPOSE.policy,
    maxTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: 1,
    topK: 0,
    eosIds: model.folder.eosIds,
    border: template.border,
    forceBorder: settings.forceBorder
      ? (await tokenizer.encodeData([template.border]))[0]!
      : new Int32Array(0),
    stops: [],
    maxBatch: settings.maxBatch || DEFAULT_BATCH,
  };
  const microBatchTokens = settings.microBatchTokens || DEFAULT_MICRO_BATCH;
  const evaluate = async (policy: Policy, step: number): Promise<Metrics> => {
    const ends = step === 0 || step === settings.steps;
    let metrics: Metrics = {};
    for (const { task, set, always } of heldOut) {
      if (!always && !ends) continue;
      const judged = await evaluateQuestions({
        policy,
        questions: settings.evalLimit > 0 ? set.questions.slice(0, settings.evalLimit) : set.questions,
        prompt: prompter(tokenizer, template),
        decode,
        settings: {
          ...rollout,
          temperature: 0,
          maxTokens: settings.evalMaxTokens || settings.maxTokens + 64,
          stops: [closingTag(template)],
        },
        border: template.border,
        samples: 1,
        confidence: true,
        microBatchTokens,
      });
      metrics = { ...metrics, ...evaluationMetrics(task, judged) };
    }
    return metrics;
  };
  const hash = reference ? await modelHash(reference.folder.folder) : '';
  return {
    policy: model.policy,
    reference: reference?.policy ?? null,
    objective: objectiveOf(settings),
    rollout,
    draw: (count) => {
      const taken = order.take({ drawn }, count);
      drawn = taken.cursor.drawn;
      return taken.draws.map(({ index, occurrence }) => ({ question: data.questions[index]!, occurrence }));
    },
    prompt: prompter(tokenizer, template),
    decode,
    optimizer: {
      beta1: settings.beta1,
      beta2: settings.beta2,
      eps: settings.eps,
      weightDecay: settings.weightDecay,
      clipNorm: settings.clipNorm,
    },
    schedule: {
      kind: settings.lrSchedule,
      lr: settings.lr,
      warmupSteps: settings.warmup,
      totalSteps: settings.steps,
      floor: 0,
    },
    steps: settings.steps,
    promptsPerStep: settings.promptsPerStep,
    microBatchTokens,
    recompute: settings.recompute,
    evaluate: heldOut.length > 0 ? evaluate : null,
    evalEvery: settings.evalEvery,
    save: async (state) => {
      if (store === null) return;
      const path = await saveCheckpoint({
        run: store.folder,
        step: state.step,
        lengths: () => store.lengths(),
        state: {
          ...state,
          drawn,
          ...(reference ? { reference: { folder: reference.folder.folder, hash } } : {}),
        },
        keep: settings.keep,
        ...(reference ? { protect: [reference.folder.folder] } : {}),
        write: async (folder) => {
          await saveModelFolder(model.policy, model.folder.spec, model.folder.folder, folder, model.dtype);
          const masters = model.dtype !== 'f32';
          await saveTrainerState(
            model.policy,
            model.folder.spec,
            join(folder, 'trainer.safetensors'),
            masters,
          );
        },
      });
      emit({ event: 'checkpoint', step: state.step, path });
    },
    saveEvery: settings.saveEvery,
    record: async (step, groups, result) => recordGroups(emit, template, step, groups, result),
    stopRequested: () => interrupt.requested !== null,
    emit,
  };
}

/** One `sample` event a group: what samples.jsonl keeps. */
function recordGroups(
  emit: Emit,
  template: OpenModel['template'],
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
      prompt: template.before + group.question.question + template.instruction + template.after,
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
