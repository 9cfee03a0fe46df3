/** The questions of a command: bundled sets or the user's file, filtered by the rules that training needs. */

import { join } from 'node:path';
import { parseFieldMap } from '../data/fields.js';
import { filterQuestions } from '../data/filter.js';
import { hashData, loadQuestions } from '../data/load.js';
import type { Question } from '../data/question.js';
import { VfError } from '../errors.js';
import { packageRoot } from '../native/binding.js';
import { encodePatches } from '../text/patch.js';
import { promptParts, type Template } from '../text/template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { OpenModel } from './open-model.js';

export type BundledSet = 'train' | 'validation' | 'test' | 't3rl' | 't3rl-heldout' | 'knights';

/** The file of a bundled question set. */
export function bundledQuestions(set: BundledSet): string {
  return join(packageRoot, 'assets', 'questions', `${set}.jsonl`);
}

export interface QuestionSet {
  file: string;
  questions: Question[];
  hash: string;
  /** Rows dropped, by rule; only rules that dropped one. */
  dropped: Record<string, number>;
}

/** Reads questions with references and drops what can't be trained on. An empty reference is an error with file and line. */
export async function openQuestions(
  file: string,
  map: Readonly<Record<string, string>>,
  model: Pick<OpenModel, 'tokenizer' | 'template'>,
  maxPromptTokens: number,
  answers: 'required' | 'optional' = 'required',
): Promise<QuestionSet> {
  const fields = parseFieldMap(Object.entries(map).map(([field, path]) => `${field}=${path}`));
  const all = await loadQuestions(file, { map: fields, answers });
  const { kept, counts } =
    answers === 'optional'
      ? { kept: all, counts: {} }
      : await filterQuestions(all, { ...model, maxPromptTokens, duplicates: false });
  const dropped = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  if (kept.length === 0) {
    throw new VfError(
      'VF_DATA',
      `Expected questions in ${file} but every row was dropped: ${JSON.stringify(dropped)}`,
      {
        file,
        hint: 'raise --max-prompt-tokens, or look at the rows with `vf data stats FILE`',
      },
    );
  }
  return { file, questions: kept, hash: await hashData(file), dropped };
}

/** Prompt and patch ids of questions under a template. */
export function prompter(
  tokenizer: Tokenizer,
  template: Template,
): (questions: readonly Question[]) => Promise<{ promptIds: Int32Array; patches: Int32Array[] }[]> {
  return async (questions) => {
    const prompts = await tokenizer.encodePrompts(
      questions.map(({ question }) => promptParts(template, question)),
    );
    const patches = await encodePatches(
      tokenizer,
      template,
      questions.flatMap(({ answers }) => answers),
    );
    let next = 0;
    return questions.map(({ answers }, i) => ({
      promptIds: prompts[i]!,
      patches: answers.map(() => patches[next++]!),
    }));
  };
}
