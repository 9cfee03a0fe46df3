/** What a task is asked with: the flags, the defaults of the run that is evaluated, and the prompt style. */

import { readFileSync } from 'node:fs';
import { PRESETS } from '../config/presets.js';
import type { Resolved } from '../config/resolve.js';
import { COMMAND_OPTIONS } from '../config/schema.js';
import {
  generalReasonerStyle,
  mmluProStyle,
  type PromptStyle,
  type Turn,
  templateStyle,
} from '../eval/prompt.js';
import type { Item, Task } from '../eval/task.js';
import { resolveModelPath } from '../run/folder.js';
import { readStoredConfig } from '../run/store.js';
import { closingTag, resolveTemplate, TEMPLATES, type Template } from '../text/template.js';
import type { OpenModel } from './open-model.js';
import { type BundledSet, bundledQuestions } from './question-set.js';

/** Tokens that a reply may have beyond a trace: border, answer and closing tag. `vf train` adds them too. */
const REPLY_MARGIN = 64;

export interface TaskSettings {
  maxTokens: number;
  limit: number;
  maxPromptTokens: number;
  seed: number;
  temperature: number;
  topP: number;
  /** Replies a question. */
  samples: number;
  /** Occurrence number of the first question: its random stream. */
  firstOccurrence: number;
  /** As `vf ttrl` does, stop at the closing tag only where the template tells the model to write it. */
  likeVoting: boolean;
  /** The bundled questions that the run held out, where they are not the task's own. */
  heldOut: { set: BundledSet; metric: string } | null;
}

/** Settings of the run that `--model` names, when it is one of `vf train` or `vf ttrl`. */
export function evaluatedRun(model: string): Record<string, unknown> | null {
  if (model === 'bundled') return null;
  const { run } = resolveModelPath(model);
  return run === null ? null : readStoredConfig(run);
}

/**
 * A task's settings. The bundled questions and files of one's own are asked as the run's own evaluation asked them, where
 * no flag says otherwise, so that they give its last evaluation reply for reply; benchmarks keep the paper's protocol.
 */
export function taskSettings(
  task: Task,
  { settings, origins }: Pick<Resolved<'eval'>, 'settings' | 'origins'>,
  run: Record<string, unknown> | null,
): TaskSettings {
  const { maxTokens, limit, maxPromptTokens, seed, temperature, topP, samples } = settings;
  const plain = { maxTokens, limit, maxPromptTokens, seed, temperature, topP, samples };
  const given: TaskSettings = { ...plain, firstOccurrence: 0, likeVoting: false, heldOut: null };
  const { kind } = task.source;
  if (kind !== 'bundled' && kind !== 'file') return given;
  const tiny = PRESETS.tiny!.values;
  const trained = run !== null && 'max-tokens' in run ? run : kind === 'bundled' ? tiny : null;
  if (trained === null) return given;
  const free = Object.entries(evaluatedWith(trained)).filter(([name]) => origins[kebab(name)] === 'default');
  return asTheRun(task, { ...given, ...Object.fromEntries(free) }, trained);
}

/**
 * A task's settings in the evaluations of the run that is trained: its length, limit, sampling and seed for every task,
 * and for benchmarks the prompts that `vf eval` lets them have.
 */
export function trainingTaskSettings(task: Task, run: Readonly<Record<string, unknown>>): TaskSettings {
  const { 'max-prompt-tokens': longest } = COMMAND_OPTIONS.eval;
  const plain = { limit: 0, maxTokens: 0, maxPromptTokens: 0, seed: 0, temperature: 0, topP: 1, samples: 1 };
  const own = { ...plain, firstOccurrence: 0, likeVoting: false, heldOut: null, ...evaluatedWith(run) };
  const { kind } = task.source;
  if (kind === 'bundled' || kind === 'file') return asTheRun(task, own, run);
  return { ...own, maxPromptTokens: Number(longest.default) };
}

/** What the evaluations of a run are asked with, by its settings. */
function evaluatedWith(run: Readonly<Record<string, unknown>>): Partial<TaskSettings> {
  const voted = 'votes' in run;
  const number = (name: string): number => Number(run[name] ?? 0);
  return {
    maxTokens: number('eval-max-tokens') || number('max-tokens') + (voted ? 0 : REPLY_MARGIN),
    limit: number('eval-limit'),
    maxPromptTokens: number('max-prompt-tokens'),
    ...(run.seed === undefined ? {} : { seed: number('seed') }),
    ...(voted
      ? {
          temperature: number('eval-temperature'),
          topP: number('eval-top-p'),
          samples: number('eval-samples'),
        }
      : {}),
  };
}

/** Stops, streams and held-out questions of the evaluations of a run that votes. */
function asTheRun(task: Task, own: TaskSettings, run: Readonly<Record<string, unknown>>): TaskSettings {
  const voted = 'votes' in run;
  const ownSet = voted && task.source.kind === 'bundled' && run.data === 'bundled' && run.tool !== 'smt';
  return {
    ...own,
    likeVoting: voted,
    ...(ownSet
      ? { firstOccurrence: votedOn(own.limit), heldOut: { set: 't3rl-heldout', metric: 'held-out' } }
      : {}),
  };
}

/** The evaluation of `vf ttrl` asks its own questions first, and the held-out ones after them. */
function votedOn(limit: number): number {
  const lines = readFileSync(bundledQuestions('t3rl'), 'utf8').split('\n');
  const questions = lines.filter((line) => line !== '').length;
  return limit > 0 ? Math.min(limit, questions) : questions;
}

/** `maxTokens` → `max-tokens`. */
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The style of --prompt for a model; nothing is put in a chat template unless --chat asks for it. */
export async function promptStyle(
  settings: Pick<Resolved<'eval'>['settings'], 'prompt' | 'chat'>,
  model: Pick<OpenModel, 'tokenizer' | 'template'>,
): Promise<PromptStyle> {
  const { prompt, chat } = settings;
  const chatted = chat ? await resolveTemplate(model.tokenizer, { name: 'chat' }) : null;
  const turn: Turn = { before: chatted?.before ?? '', after: chatted?.after ?? '' };
  if (prompt === 'mmlu-pro') return mmluProStyle(turn);
  if (prompt === 'general-reasoner') return generalReasonerStyle(turn);
  const template: Template = chatted ?? (prompt === 'plain' ? TEMPLATES.plain : model.template);
  return templateStyle(prompt, template, closingTag(template));
}

/** Where the prompt asks for no box, an answer stated in words counts as well. */
export function judgedBy(style: PromptStyle, items: readonly Item[]): Item[] {
  return items.map((item) => (item.judge === 'boxed' && !style.boxed ? { ...item, judge: 'answer' } : item));
}

/** Worked examples that a task is asked with. */
export function shotsOf(task: Task, style: PromptStyle, fewShot: number | 'auto'): number {
  if (fewShot !== 'auto') return style.fewShot ? fewShot : 0;
  return style.fewShot ? (task.examples?.shots ?? 0) : 0;
}

/** Stop strings of a task's replies. */
export function stopsOf(
  style: PromptStyle,
  { instruction }: Template,
  likeVoting: boolean,
): readonly string[] {
  return likeVoting ? style.stops.filter((stop) => instruction.includes(stop)) : style.stops;
}
