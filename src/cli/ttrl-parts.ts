/** Wires `vf ttrl`: model, questions, vote, evaluation and checkpoints into the parts of the loop. */

import type { Resolved } from '../config/resolve.js';
import type { Question } from '../data/question.js';
import type { Policy } from '../native/policy.js';
import { vote } from '../objective/vote.js';
import { PURPOSE } from '../random.js';
import type { Emit, Metrics } from '../run/events.js';
import type { RunStore } from '../run/store.js';
import { closingTag, promptParts } from '../text/template.js';
import type { LoopParts } from '../train/loop.js';
import type { LoopState } from '../train/steps.js';
import type { TraceChecker } from '../verify/checker.js';
import { parseOmega } from '../verify/tally.js';
import { DEFAULT_BATCH, DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import type { ReadyTask } from './eval-task.js';
import type { Interrupt } from './interrupt.js';
import type { OpenModel } from './open-model.js';
import { bundledQuestions, openQuestions, type QuestionSet } from './question-set.js';
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
import type { OpenChecker } from './ttrl-check.js';
import { biasedHalf, type EvaluationSet, evaluateSets, evaluationSet } from './ttrl-evaluation.js';
import { votesWriter } from './votes-file.js';

type Settings = Resolved<'ttrl'>['settings'];

export interface TtrlSetup {
  model: OpenModel;
  reference: Frozen | null;
  data: QuestionSet;
  /** The training questions themselves where they have references, then others. */
  evaluations: EvaluationSet[];
  /** Tasks of --eval-tasks. */
  tasks: ReadyTask[];
  state: LoopState;
}

/** Loads all that a run needs, from its start model or from the checkpoint it continues. */
export async function setUpTtrl(
  { settings, values }: Pick<Resolved<'ttrl'>, 'settings' | 'values'>,
  store: RunStore,
): Promise<TtrlSetup> {
  const opened = await openTrainingTasks(settings, values);
  const model = await openStart(settings, store, 'tiny-t3rl');
  const bundled = settings.data === 'bundled';
  const puzzles = settings.tool === 'smt';
  const open = async (file: string) =>
    withoutLongPrompts(
      await openQuestions(file, settings.map, model, settings.maxPromptTokens, 'optional'),
      model,
      settings.maxPromptTokens,
    );
  const data = await open(bundled ? bundledQuestions(puzzles ? 'knights' : 't3rl') : settings.data);
  const tasks = await prepareTrainingTasks(opened, model);
  const others =
    settings.evalData !== null && tasks.length === 0
      ? await open(settings.evalData)
      : bundled && !puzzles
        ? await open(bundledQuestions('t3rl-heldout'))
        : null;
  const halves = bundled && !puzzles ? biasedHalf : undefined;
  const { evalLimit } = settings;
  const evaluations = [
    evaluationSet('transductive', data.questions, evalLimit, halves),
    others === null ? null : evaluationSet('held-out', others.questions, evalLimit, halves),
  ].filter((set): set is EvaluationSet => set !== null && tasks.every(({ metric }) => metric !== set.task));
  const reference = settings.kl > 0 ? await openReference(settings, model, store) : null;
  return { model, reference, data, evaluations, tasks, state: stateOf(store) };
}

/** Drops questions whose prompt is longer than `most` tokens, and counts them. */
async function withoutLongPrompts(set: QuestionSet, model: OpenModel, most: number): Promise<QuestionSet> {
  const prompts = await promptsOf(model)(set.questions);
  const questions = set.questions.filter((_, i) => prompts[i]!.promptIds.length <= most);
  const long = set.questions.length - questions.length;
  return long === 0 ? set : { ...set, questions, dropped: { ...set.dropped, 'long prompt': long } };
}

function promptsOf({ tokenizer, template }: OpenModel): LoopParts['prompt'] {
  return async (questions) => {
    const prompts = await tokenizer.encodePrompts(
      questions.map(({ question }: Question) => promptParts(template, question)),
    );
    return prompts.map((promptIds) => ({ promptIds, patches: [] }));
  };
}

/** A template that tells the model to close its answer with a tag ends its replies there; others end at the end of text. */
function stopsOf({ template }: OpenModel): string[] {
  const closing = closingTag(template);
  return template.instruction.includes(closing) ? [closing] : [];
}

/** Questions of one update: a step's questions, shared among its mini-batches. */
export function questionsPerUpdate(settings: Pick<Settings, 'promptsPerStep' | 'miniBatches'>): number {
  return Math.ceil(settings.promptsPerStep / settings.miniBatches);
}

/** The objective that the settings name. */
export function objectiveOf(
  settings: Settings,
  setup: TtrlSetup,
  checker: TraceChecker | null,
  store: RunStore,
) {
  const { policy } = setup.model;
  const severalUpdates = settings.epochs * settings.miniBatches > 1;
  return vote({
    votes: settings.votes,
    trainSamples: settings.trainSamples,
    omega: parseOmega(String(settings.omega)),
    minAgreement: settings.minAgreement,
    maxMissing: settings.maxMissing,
    advantage: settings.advantage,
    epochs: settings.epochs,
    questionsPerUpdate: questionsPerUpdate(settings),
    clip: typeof settings.clip === 'number' ? settings.clip : -1,
    dualClip: settings.dualClip === 'none' ? 0 : settings.dualClip,
    kl: settings.kl,
    tisCap: settings.tisCap === 'none' ? 0 : settings.tisCap,
    parameters: policy.info.parameters,
    extraForwards: Number(settings.kl > 0) + Number(policy.info.device !== 'cpu' && severalUpdates),
    checker,
    record: votesWriter(store),
  });
}

/** The loop's parts for a setup. */
export function loopParts(
  settings: Settings,
  setup: TtrlSetup,
  check: Pick<OpenChecker, 'checker' | 'frozen'> | null,
  store: RunStore,
  emit: Emit,
  interrupt: Interrupt,
): LoopParts {
  const checker = check?.checker ?? null;
  const verifier = check?.frozen ?? null;
  const { model, data, reference, evaluations, tasks } = setup;
  const decode = (ids: Int32Array) => model.tokenizer.decode(ids, { special: true });
  const cursor = openCursor(data.questions, settings.seed, store);
  const rollout = {
    seed: BigInt(settings.seed),
    purpose: PURPOSE.policy,
    maxTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: 1,
    topK: 0,
    eosIds: model.folder.eosIds,
    border: '',
    forceBorder: new Int32Array(0),
    stops: stopsOf(model),
    maxBatch: settings.maxBatch || DEFAULT_BATCH,
  };
  const microBatchTokens = settings.microBatchTokens || DEFAULT_MICRO_BATCH;
  const prompt = promptsOf(model);
  const evaluation = {
    prompt,
    decode,
    settings: {
      ...rollout,
      temperature: settings.evalTemperature,
      topP: settings.evalTopP,
      maxTokens: settings.evalMaxTokens || settings.maxTokens,
    },
    border: '',
    samples: settings.evalSamples,
    confidence: false,
    microBatchTokens,
  };
  const { maxBatch } = settings;
  const evaluate = async (policy: Policy): Promise<Metrics> => ({
    ...(await evaluateSets(evaluations, policy, evaluation)),
    ...(await evaluateTasks(tasks, policy, { model, maxBatch, microBatchTokens, emit })),
  });
  return {
    policy: model.policy,
    reference: reference?.model.policy ?? null,
    objective: objectiveOf(settings, setup, checker, store),
    rollout,
    draw: cursor.draw,
    prompt,
    decode,
    ...optimizerParts(settings),
    steps: settings.steps,
    promptsPerStep: settings.promptsPerStep,
    microBatchTokens,
    recompute: settings.recompute,
    evaluate: evaluations.length + tasks.length > 0 ? evaluate : null,
    evalEvery: settings.evalEvery,
    save: checkpointSaver({
      store,
      model,
      frozen: { reference, verifier },
      cursor,
      keep: settings.keep,
      emit,
    }),
    saveEvery: settings.saveEvery,
    record: async (step, groups, result) => emitSamples(emit, model.template, step, groups, result),
    stopRequested: () => interrupt.requested !== null,
    emit,
  };
}
