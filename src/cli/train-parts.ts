/** Wires `vf train`: model, questions, objective, evaluation and checkpoints into the parts of the loop. */

import type { Resolved } from '../config/resolve.js';
import { evaluateQuestions, evaluationMetrics } from '../eval/evaluate.js';
import type { Policy } from '../native/policy.js';
import { jlb } from '../objective/jlb.js';
import { latro } from '../objective/latro.js';
import type { Objective } from '../objective/objective.js';
import { verifier } from '../objective/verifier.js';
import { verifree } from '../objective/verifree.js';
import { PURPOSE } from '../random.js';
import type { Group } from '../rollout/trajectory.js';
import type { Emit, Metrics } from '../run/events.js';
import type { RunStore } from '../run/store.js';
import { requireBorder } from '../text/patch.js';
import { closingTag } from '../text/template.js';
import { packGroups } from '../train/batch.js';
import type { LoopParts } from '../train/loop.js';
import type { LoopState } from '../train/steps.js';
import { DEFAULT_BATCH, DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import type { ReadyTask } from './eval-task.js';
import type { Interrupt } from './interrupt.js';
import type { OpenModel } from './open-model.js';
import { bundledQuestions, openQuestions, prompter, type QuestionSet } from './question-set.js';
import {
  checkpointSaver,
  emitSamples,
  type Frozen,
  openCursor,
  openReference,
  openStart,
  optimizerParts,
  stateOf,
} from './training-parts.js';
import { evaluateTasks, openTrainingTasks, prepareTrainingTasks } from './training-tasks.js';

type Settings = Resolved<'train'>['settings'];

export interface TrainSetup {
  model: OpenModel;
  reference: Frozen | null;
  data: QuestionSet;
  /** Held-out sets by task name; `always` ones are measured at every evaluation, others before and after only. */
  heldOut: { task: string; set: QuestionSet; always: boolean }[];
  /** Tasks of --eval-tasks, measured at every evaluation. */
  tasks: ReadyTask[];
  border: ReturnType<typeof requireBorder>;
  state: LoopState;
}

/** Loads all that a run needs, from its start model or from the checkpoint it continues. */
export async function setUpTraining(
  { settings, values }: Pick<Resolved<'train'>, 'settings' | 'values'>,
  store: RunStore | null,
): Promise<TrainSetup> {
  const opened = await openTrainingTasks(settings, values);
  const model = await openStart(settings, store);
  const border = requireBorder(model.tokenizer, model.template);
  const bundled = settings.data === 'bundled';
  const open = (file: string) => openQuestions(file, settings.map, model, settings.maxPromptTokens);
  const data = await open(bundled ? bundledQuestions('train') : settings.data);
  const tasks = await prepareTrainingTasks(opened, model);
  const heldOut: TrainSetup['heldOut'] = [];
  if (settings.evalData !== null && tasks.length === 0) {
    heldOut.push({ task: 'held-out', set: await open(settings.evalData), always: true });
  } else if (bundled) {
    heldOut.push({
      task: 'bundled-validation',
      set: await open(bundledQuestions('validation')),
      always: true,
    });
    heldOut.push({ task: 'bundled-test', set: await open(bundledQuestions('test')), always: false });
  }
  const needed = settings.kl > 0 || settings.objective === 'latro';
  const reference = needed ? await openReference(settings, model, store) : null;
  const own = heldOut.filter(({ task }) => tasks.every(({ metric }) => metric !== task));
  return { model, reference, data, heldOut: own, tasks, border, state: stateOf(store) };
}

/** The objective that the settings name. @param reference the frozen start model, for LaTRO. */
export function objectiveOf(settings: Settings, reference: Policy | null, temperature: number): Objective {
  const { lengthNorm, clip, tisCap } = settings;
  const options = {
    groupSize: settings.groupSize,
    advantage: settings.advantage,
    lengthDivisor: lengthNorm === 'none' ? 1 : lengthNorm === 'max_tokens' ? settings.maxTokens : lengthNorm,
    epochs: settings.epochs,
    miniBatches: settings.miniBatches,
    clip: typeof clip === 'number' ? clip : -1,
    tisCap: tisCap === 'none' ? 0 : tisCap,
    kl: settings.kl,
  };
  switch (settings.objective) {
    case 'jlb':
      return jlb(options);
    case 'latro':
      return latro({
        ...options,
        beta: settings.latroBeta,
        referenceLogprobs: (groups) => traceLogprobs(reference!, groups, temperature),
      });
    case 'verifier':
      return verifier(options);
    default: {
      const { reward, rewardExponent, answerWeight } = settings;
      return verifree({ ...options, reward, rewardExponent, answerWeight });
    }
  }
}

/** Summed log-probs of every trace under a frozen model, by the training forward. */
async function traceLogprobs(
  policy: Policy,
  groups: readonly Group[],
  temperature: number,
): Promise<Float64Array> {
  const bare = groups.map((group) => ({
    ...group,
    patches: [],
    traces: group.traces.map((trace) => ({ ...trace, answerLogprobs: [] })),
  }));
  const { tree, spans } = packGroups(bare);
  const microBatchTokens = DEFAULT_MICRO_BATCH;
  const { logprobs } = await policy.score({ tree, spans, temperature, entropy: false, microBatchTokens });
  let at = 0;
  return Float64Array.from(
    bare.flatMap((group) => group.traces),
    ({ ids }) => {
      let sum = 0;
      for (let i = 0; i < ids.length; i++) sum += logprobs[at++]!;
      return sum;
    },
  );
}

/** The loop's parts for a setup. @param store null for a probe, which saves nothing. */
export async function loopParts(
  settings: Settings,
  setup: TrainSetup,
  store: RunStore | null,
  emit: Emit,
  interrupt: Interrupt,
): Promise<LoopParts> {
  const { model, data, heldOut, tasks, reference } = setup;
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
    // The verifier baseline judges whole replies; the others end a trace at its border.
    border: settings.objective === 'verifier' ? '' : template.border,
    forceBorder: settings.forceBorder
      ? (await tokenizer.encodeData([template.border]))[0]!
      : new Int32Array(0),
    stops: settings.objective === 'verifier' ? [closingTag(template)] : [],
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
    const { maxBatch } = settings;
    return {
      ...metrics,
      ...(await evaluateTasks(tasks, policy, { model, maxBatch, microBatchTokens, emit })),
    };
  };
  return {
    policy: model.policy,
    reference: reference?.model.policy ?? null,
    objective: objectiveOf(settings, reference?.model.policy ?? null, settings.temperature),
    rollout,
    draw: cursor.draw,
    prompt: prompter(tokenizer, template),
    decode,
    ...optimizerParts(settings),
    steps: settings.steps,
    promptsPerStep: settings.promptsPerStep,
    microBatchTokens,
    recompute: settings.recompute,
    evaluate: heldOut.length + tasks.length > 0 ? evaluate : null,
    evalEvery: settings.evalEvery,
    save: checkpointSaver({ store, model, frozen: { reference }, cursor, keep: settings.keep, emit }),
    saveEvery: settings.saveEvery,
    record: async (step, groups, result) => emitSamples(emit, template, step, groups, result),
    stopRequested: () => interrupt.requested !== null,
    emit,
  };
}
