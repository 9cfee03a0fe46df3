/** Every task by name. */

import { nearest, VfError } from '../../errors.js';
import type { Task } from '../task.js';
import { bbh } from './bbh.js';
import { gpqaTasks } from './gpqa.js';
import { aime24, amc, gsm8k, math500, minerva } from './math.js';
import { mmluPro } from './mmlu-pro.js';
import { olympiadBench } from './olympiadbench.js';
import { bundled, jsonl, knights } from './own.js';
import { superGpqa } from './supergpqa.js';

/** Tasks in the order of the help; `bbh:TASK` is made by name. */
export const TASKS: readonly Task[] = [
  bundled,
  knights,
  jsonl,
  mmluPro,
  superGpqa,
  ...gpqaTasks,
  math500,
  olympiadBench,
  minerva,
  gsm8k,
  amc,
  aime24,
];

/** The task of a name. @throws VF_TASK for an unknown one, with the nearest. */
export function taskByName(name: string): Task {
  const task = TASKS.find((candidate) => candidate.name === name);
  if (task !== undefined) return task;
  const part = /^bbh:([a-z0-9_]+)$/.exec(name)?.[1];
  if (part !== undefined) return bbh(part);
  const names = [...TASKS.map((candidate) => candidate.name), 'bbh:TASK'];
  const near = nearest(name, names);
  throw new VfError('VF_TASK', `vf eval has no task "${name}"`, {
    hint: near === undefined ? `it has ${names.join(', ')}` : `did you mean ${near}?`,
  });
}

/** The tasks of a list separated by commas, each once. @throws VF_TASK as taskByName. */
export function tasksNamed(list: string): Task[] {
  return [...new Set(list.split(',').map((name) => name.trim()))].map(taskByName);
}
