/** Wires `vf train`: model, questions, objective, evaluation and checkpoints into the parts of the loop. */

import type { Resolved } from '../config/resolve.js';
import { evaluateQuestions, evaluationMetrics } from '../eval/evaluate.js';
import type { Policy } from '../native/policy.js';
import { verifree } from '../objective/verifree.js';
import { PURPOSE } from '../random.js';
import type { Emit, Metrics } from '../run/events.js';
import type { RunStore } from '../run/store.js';
import { requireBorder } from '../text/patch.js';
import { closingTag } from '../text/template.js';
import type { LoopParts, LoopState } from '../train/loop.js';
import type { Interrupt } from './interrupt.js';
import type { OpenModel } from './open-model.js';
import { bundledQuestions, openQuestions, prompter, type QuestionSet } from './question-set.js';
import {
  checkpointSaver,
  DEFAULT_BATCH,
  DEFAULT_MICRO_BATCH,
  emitSamples,
  type Frozen,
  openCursor,
  openReference,
  openStart,
  optimizerParts,
  stateOf,
} from './training-parts.js';

type Settings = Resolved<'train'>['settings'];

export interface TrainSetup {
  model: OpenModel;
  reference: Frozen | null;
  data: QuestionSet;
  /** Held-out sets by task name; `always` ones are measured at every evaluation, others before and after only. */
  heldOut: { task: string; set: QuestionSet; always: boolean }[];
  border: ReturnType<typeof requireBorder>;
  state: LoopState;
}

/** Loads all that a run needs, from its start model or from the checkpoint it continues. */
export async function setUpTraining(settings: Settings, store: RunStore | null): Promise<TrainSetup> {
  const model = await openStart(settings, store);
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
  const reference = settings.kl > 0 ? await openReference(settings, model, store) : null;
  return { model, reference, data, heldOut, border, state: stateOf(store) };
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
  const cursor = openCursor(data.questions, settings.seed, store);
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
  return {
    policy: model.policy,
    reference: reference?.model.policy ?? null,
    objective: objectiveOf(settings),
    rollout,
    draw: cursor.draw,
    prompt: prompter(tokenizer, template),
    decode,
    ...optimizerParts(settings),
    steps: settings.steps,
    promptsPerStep: settings.promptsPerStep,
    microBatchTokens,
    recompute: settings.recompute,
    evaluate: heldOut.length > 0 ? evaluate : null,
    evalEvery: settings.evalEvery,
    save: checkpointSaver({ store, model, reference, cursor, keep: settings.keep, emit }),
    saveEvery: settings.saveEvery,
    record: async (step, groups, result) => emitSamples(emit, template, step, groups, result),
    stopRequested: () => interrupt.requested !== null,
    emit,
  };
}
