/** Files of questions for `vf data`: reading them, the text side of a model, and writing rows. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseFieldMap } from '../data/fields.js';
import { loadQuestions } from '../data/load.js';
import type { Question } from '../data/question.js';
import { VfError } from '../errors.js';
import { readModelFolder } from '../model/folder.js';
import { resolveTemplate, type Template } from '../text/template.js';
import { openTokenizer, type Tokenizer } from '../text/tokenizer.js';
import { modelFolder } from './open-model.js';
import { writeOut } from './output.js';

/** Flags that choose a tokenizer and a template. */
export interface TextChoice {
  model: string | null;
  template: string | null;
  border: string | null;
}

/** Tokenizer and template of a model; no engine is loaded. Without a model, the paper's template and no tokenizer. */
export async function openText(
  choice: TextChoice,
): Promise<{ tokenizer: Tokenizer | null; template: Template }> {
  if (choice.model === null) {
    const { TEMPLATES, withBorder } = await import('../text/template.js');
    const template: Template = TEMPLATES.verifree;
    return {
      tokenizer: null,
      template: choice.border === null ? template : withBorder(template, choice.border),
    };
  }
  const model = await readModelFolder(modelFolder(choice.model));
  const tokenizer = await openTokenizer(model.folder);
  const template = await resolveTemplate(tokenizer, {
    name: choice.template ?? undefined,
    border: choice.border ?? undefined,
    stated: model.vf,
  });
  return { tokenizer, template };
}

/** The questions of a file, with or without answers. */
export function openQuestions(file: string, map: Readonly<Record<string, string>>): Promise<Question[]> {
  const pairs = Object.entries(map).map(([field, name]) => `${field}=${name}`);
  return loadQuestions(file, { map: parseFieldMap(pairs), answers: 'optional' });
}

/** Writes lines to a file, or to stdout for `-`. */
export function writeLines(out: string, lines: readonly string[]): void {
  const text = lines.map((line) => `${line}\n`).join('');
  if (out === '-') writeOut(text);
  else writeFileSync(out, text);
}

/** The file of --out. @throws VF_USAGE when it is left out, or wants stdout together with --json. */
export function requireOut(out: string | null, file: string, json: boolean): string {
  if (out === null) {
    const kept = `${path.basename(file, path.extname(file))}-kept.jsonl`;
    throw new VfError('VF_USAGE', 'Expected a file to write', {
      hint: `--out ${kept}, or --out - for stdout`,
    });
  }
  if (out === '-' && json) {
    throw new VfError('VF_USAGE', '--out - and --json both want stdout', { hint: 'give one of them' });
  }
  return out;
}
