/** One task on one model: data opened, prompts made ready, replies asked of a policy. `vf eval` and the evaluations of a training run share it. */

import { VfError } from '../errors.js';
import { generateReplies } from '../eval/generate.js';
import { judgeAgain } from '../eval/judge.js';
import { type Prepared, prepareItems } from '../eval/prepare.js';
import type { PromptStyle } from '../eval/prompt.js';
import type { Task } from '../eval/task.js';
import type { Policy } from '../native/policy.js';
import type { ReplyRow } from '../run/evaluation.js';
import type { Emit } from '../run/events.js';
import { type DataChoice, openExamples, openTaskData, type TaskData } from './eval-data.js';
import { judgedBy, shotsOf, stopsOf, type TaskSettings } from './eval-settings.js';
import type { OpenModel } from './open-model.js';

/** Sequences decoded together when no flag says. */
const BATCH = { cpu: 64, gpu: 256 };
const PROGRESS_MS = 500;

/** A task with its questions. */
export interface OpenTask {
  task: Task;
  own: TaskSettings;
  choice: DataChoice;
  data: TaskData;
}

/** Reads a task's questions; needs no model. @throws VF_DATA_MISSING (exit code 2) with the place to get them. */
export async function openTask(
  task: Task,
  own: TaskSettings,
  place: Pick<DataChoice, 'data' | 'map' | 'flag'>,
): Promise<OpenTask> {
  const choice = { ...place, task, seed: own.seed, limit: own.limit, set: own.heldOut?.set };
  return { task, own, choice, data: await openTaskData(choice) };
}

/** How the questions are put to the model. */
export interface Wording {
  style: PromptStyle;
  fewShot: number | 'auto';
  /** References are encoded and scored after each trace. */
  confidence: boolean;
}

/** A task with its prompts. */
export interface ReadyTask extends OpenTask, Wording {
  /** The name in metrics (`eval/<metric>/accuracy`). */
  metric: string;
  /** Worked examples in a prompt, at most. */
  shots: number;
  prepared: Prepared[];
  /** Questions that are left out, by reason. */
  dropped: Record<string, number>;
}

/** Makes a task's prompts. @throws VF_TOO_LONG when none fits the model. */
export async function prepareTask(open: OpenTask, model: OpenModel, wording: Wording): Promise<ReadyTask> {
  const { task, own, choice, data } = open;
  const { style, fewShot, confidence } = wording;
  const shots = shotsOf(task, style, fewShot);
  const examplesFor = shots > 0 ? await openExamples(choice, data.file) : () => ({ items: [], text: null });
  const { prepared, dropped } = await prepareItems(
    {
      tokenizer: model.tokenizer,
      style,
      maxPromptTokens: own.maxPromptTokens,
      maxTokens: own.maxTokens,
      maxPositions: model.folder.spec.maxPositions,
      limit: own.limit,
      confidence,
      examplesFor,
      shots,
    },
    judgedBy(style, data.items),
  );
  if (prepared.length === 0) {
    throw new VfError('VF_TOO_LONG', `no prompt of ${task.name} fits: ${JSON.stringify(dropped)}`, {
      hint: 'raise --max-prompt-tokens, or evaluate a model with more positions',
    });
  }
  return { ...open, ...wording, metric: own.heldOut?.metric ?? task.metric, shots, prepared, dropped };
}

export interface AskParts {
  model: OpenModel;
  /** The policy that answers: the model's own, or the one in training. */
  policy: Policy;
  topK: number;
  /** --max-batch; 0 leaves it to the device. */
  maxBatch: number;
  microBatchTokens: number;
  emit: Emit;
  /** Replies there are already. */
  kept: readonly ReplyRow[];
  /** Called with every batch of new replies. */
  arrived(rows: readonly ReplyRow[]): void;
  /** True ends the asking before the next batch. */
  stopRequested(): boolean;
}

/** The replies of a task, kept and new, judged: all of them unless it was asked to stop. */
export async function askTask(ready: ReadyTask, parts: AskParts): Promise<ReplyRow[]> {
  const { task, own, style, prepared } = ready;
  const { model, policy, kept, emit } = parts;
  const rows = judgeAgain(kept);
  const total = prepared.length * own.samples;
  const phase = `evaluating ${task.name}`;
  const show = (more: number) =>
    emit({ event: 'progress', phase, done: rows.length + more, total, unit: 'replies' });
  const timer = setInterval(() => show(policy.progress().tracesDone), PROGRESS_MS);
  const chunk = parts.maxBatch || (model.device === 'cpu' ? BATCH.cpu : BATCH.gpu);
  try {
    const batches = generateReplies(
      {
        task: task.name,
        policy,
        decode: (ids) => model.tokenizer.decode(ids, { special: true }),
        sampling: {
          seed: BigInt(own.seed),
          temperature: own.temperature,
          topP: own.topP,
          topK: parts.topK,
          eosIds: model.folder.eosIds,
          stops: stopsOf(style, model.template, own.likeVoting),
          maxBatch: chunk,
        },
        samples: own.samples,
        firstOccurrence: own.firstOccurrence,
        border: style.border,
        confidence: ready.confidence,
        microBatchTokens: parts.microBatchTokens,
        maxPositions: model.folder.spec.maxPositions,
        chunk,
        done: counts(kept),
        stopRequested: parts.stopRequested,
      },
      prepared,
    );
    show(0);
    for await (const batch of batches) {
      parts.arrived(batch);
      rows.push(...batch);
      show(0);
    }
  } finally {
    clearInterval(timer);
  }
  return rows;
}

function counts(rows: readonly ReplyRow[]): Map<number, number> {
  const done = new Map<number, number>();
  for (const { index } of rows) done.set(index, (done.get(index) ?? 0) + 1);
  return done;
}
