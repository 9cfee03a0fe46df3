/** `--eval-tasks`: the tasks of `vf eval`, asked of the policy in training as `vf eval` would ask them. */

import { parseFieldMap } from '../data/fields.js';
import { promptsHash } from '../eval/prepare.js';
import { scoreReplies } from '../eval/score.js';
import { tasksNamed } from '../eval/tasks/all.js';
import type { Policy } from '../native/policy.js';
import type { Emit, Metrics } from '../run/events.js';
import { promptStyle, trainingTaskSettings } from './eval-settings.js';
import { askTask, type OpenTask, openTask, prepareTask, type ReadyTask } from './eval-task.js';
import { taskMetrics, warnAboutData, warnAboutPrompts } from './eval-words.js';
import type { OpenModel } from './open-model.js';

export interface TaskChoice {
  evalTasks: string | null;
  evalData: string | null;
  map: Readonly<Record<string, string>>;
}

/**
 * Reads the tasks of --eval-tasks; none when it is left out. Needs no model, so that missing data end a run at once.
 * @param values all settings of the run, by flag name.
 * @throws VF_DATA_MISSING (exit code 2) with the place to get the data, VF_TASK for an unknown name.
 */
export async function openTrainingTasks(
  { evalTasks, evalData, map }: TaskChoice,
  values: Readonly<Record<string, unknown>>,
): Promise<OpenTask[]> {
  const fields = parseFieldMap(Object.entries(map).map(([field, name]) => `${field}=${name}`));
  const opened: OpenTask[] = [];
  for (const task of evalTasks === null ? [] : tasksNamed(evalTasks)) {
    const { kind } = task.source;
    opened.push(
      await openTask(task, trainingTaskSettings(task, values), {
        data: kind === 'bundled' ? null : evalData,
        // The other tasks' columns are as published, whatever those of --data are called.
        map: kind === 'file' ? fields : {},
        flag: `--eval-tasks ${evalTasks} --eval-data`,
      }),
    );
  }
  return opened;
}

/** Makes the tasks' prompts in VeriFree's wording, no worked examples, as `vf eval` does without flags. */
export async function prepareTrainingTasks(
  opened: readonly OpenTask[],
  model: OpenModel,
): Promise<ReadyTask[]> {
  const style = await promptStyle({ prompt: 'verifree', chat: false }, model);
  const ready: ReadyTask[] = [];
  for (const open of opened) {
    ready.push(await prepareTask(open, model, { style, fewShot: 'auto', confidence: true }));
  }
  return ready;
}

export interface TaskEvaluation {
  model: OpenModel;
  maxBatch: number;
  microBatchTokens: number;
  emit: Emit;
}

/** Scores of a policy on the tasks; keys `eval/<task>/…`. An evaluation that has begun is finished. */
export async function evaluateTasks(
  tasks: readonly ReadyTask[],
  policy: Policy,
  parts: TaskEvaluation,
): Promise<Metrics> {
  let metrics: Metrics = {};
  for (const ready of tasks) {
    const rows = await askTask(ready, {
      ...parts,
      policy,
      topK: 0,
      kept: [],
      arrived: () => {},
      stopRequested: () => false,
    });
    const scored = { ...scoreReplies(rows), metric: ready.metric, compat: {}, overlap: null };
    metrics = { ...metrics, ...taskMetrics(scored) };
  }
  return metrics;
}

/** Says where the tasks' data differ from the published sets, and which questions or replies are cut. */
export function warnAboutTasks(emit: Emit, tasks: readonly ReadyTask[]): void {
  for (const ready of tasks) {
    warnAboutData(emit, ready.task, ready.data);
    warnAboutPrompts(emit, ready);
  }
}

/** The tasks as the manifest keeps them: data and prompts by their hashes. */
export function taskRecords(tasks: readonly ReadyTask[]): Record<string, unknown>[] {
  return tasks.map(({ task, metric, data, prepared }) => ({
    task: task.name,
    metric,
    file: data.file,
    sha256: data.hash,
    prompts: promptsHash(prepared),
    questions: prepared.length,
  }));
}
