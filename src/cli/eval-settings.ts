/** What a task is asked with: the flags, the defaults of the run that is evaluated, and the prompt style. */

import { PRESETS } from '../config/presets.js';
import type { Resolved } from '../config/resolve.js';
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

/** Tokens that a reply may have beyond a trace: border, answer and closing tag. `vf train` adds them too. */
const REPLY_MARGIN = 64;

export interface TaskSettings {
  maxTokens: number;
  limit: number;
  maxPromptTokens: number;
  seed: number;
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
  const { maxTokens, limit, maxPromptTokens, seed } = settings;
  const plain = { maxTokens, limit, maxPromptTokens, seed };
  const ownQuestions = task.source.kind === 'bundled' || task.source.kind === 'file';
  if (!ownQuestions) return plain;
  const tiny = PRESETS.tiny!.values;
  const trained = run !== null && 'max-tokens' in run ? run : task.source.kind === 'bundled' ? tiny : null;
  if (trained === null) return plain;
  const free = (name: string) => origins[name] === 'default';
  const number = (name: string): number => Number(trained[name] ?? 0);
  return {
    maxTokens: free('max-tokens')
      ? number('eval-max-tokens') || number('max-tokens') + REPLY_MARGIN
      : maxTokens,
    limit: free('limit') ? number('eval-limit') : limit,
    maxPromptTokens: free('max-prompt-tokens') ? number('max-prompt-tokens') : maxPromptTokens,
    seed: free('seed') && trained.seed !== undefined ? number('seed') : seed,
  };
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
