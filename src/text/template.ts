/** Prompt templates: the exact text around a question, and the border and patch that its traces end in. */

import { VfError } from '../errors.js';
import type { PromptPart, Tokenizer } from './tokenizer.js';

/** All text is literal (control tokens count) but for the question. A prompt is before + question + instruction + after. */
export interface Template {
  name: string;
  before: string;
  /** What the model is told to do, after the question; evaluations bring their own or none. */
  instruction: string;
  after: string;
  /** A trace ends where its text first ends in this. */
  border: string;
  /** Patch before and after a reference answer; border + opening is fixed text that a good reply writes by itself. */
  opening: string;
  closing: string;
  /** Blanks around the question are dropped, as a chat template asked. */
  trim?: boolean;
}

const INSTRUCTION =
  '\nPlease reason step by step, and put your final answer within <answer> \\boxed{} </answer>.';
const ANSWER = { border: '<answer', opening: '> \\boxed{', closing: '} </answer>' };

/** `verifree` is Template 1 of the VeriFree paper; `tiny` the bundled models' short wrapper; `raw` the question alone. */
export const TEMPLATES = {
  verifree: {
    name: 'verifree',
    before: '<|im_start|>user\n',
    instruction: INSTRUCTION,
    after: '<|im_end|>\n<|im_start|>assistant\n',
    ...ANSWER,
  },
  tiny: { name: 'tiny', before: '<|im_start|>', instruction: '', after: '<|im_end|>', ...ANSWER },
  plain: { name: 'plain', before: '', instruction: INSTRUCTION, after: '\n', ...ANSWER },
  raw: { name: 'raw', before: '', instruction: '', after: '', ...ANSWER },
} as const satisfies Record<string, Template>;

/** What --template takes: the built-in ones, or the tokenizer's own chat template. */
export const TEMPLATE_NAMES = [...Object.keys(TEMPLATES), 'chat'];

/** The parts of a question's prompt; encode them with Tokenizer.encodePrompts. */
export function promptParts(template: Template, question: string): PromptPart[] {
  const data = template.trim ? question.trim() : question;
  const parts = [{ literal: template.before }, { data }, { literal: template.instruction + template.after }];
  return parts.filter((part) => ('data' in part ? part.data : part.literal) !== '');
}

/** The prompt as text, for people; its ids come from promptParts. */
export function promptText(template: Template, question: string): string {
  return promptParts(template, question)
    .map((part) => ('data' in part ? part.data : part.literal))
    .join('');
}

/** The patch of a reference answer, y* verbatim between opening and closing. */
export function patchText(template: Template, answer: string): string {
  return template.opening + answer + template.closing;
}

/** The stop string of a whole reply: the closing tag without what stands before it. */
export function closingTag(template: Template): string {
  return template.closing.trimEnd().split(/\s/).at(-1) as string;
}

/**
 * The same template cut at another place: `border` must begin the fixed text border + opening (`<answer> \boxed{`), and
 * the patch then begins where the border ends.
 */
export function withBorder(template: Template, border: string): Template {
  const fixed = template.border + template.opening;
  if (border === '' || border === fixed || !fixed.startsWith(border)) {
    throw new VfError(
      'VF_INVALID_VALUE',
      `Expected a beginning of ${JSON.stringify(fixed)} for --border but received ${JSON.stringify(border)}`,
      {
        hint: `the cut moves inside the template's fixed text, for example --border ${JSON.stringify(template.border)}`,
      },
    );
  }
  return { ...template, border, opening: fixed.slice(border.length) };
}

export interface TemplateChoice {
  /** --template, when given. */
  name?: string | undefined;
  /** --border, when given. */
  border?: string | undefined;
  /** Contents of the model's vf.json: {template: name or texts, border?, opening?, closing?}. */
  stated?: Record<string, unknown> | undefined;
}

/**
 * The template a model uses: the flag's, else the one its vf.json states, else verifree where the vocabulary has the
 * ChatML markers, else plain. `chat` renders the tokenizer's chat template.
 */
export async function resolveTemplate(tokenizer: Tokenizer, choice: TemplateChoice = {}): Promise<Template> {
  const stated = choice.stated ?? {};
  const chatMl =
    tokenizer.addedId('<|im_start|>') !== undefined && tokenizer.addedId('<|im_end|>') !== undefined;
  const wanted = choice.name ?? stated.template ?? (chatMl ? 'verifree' : 'plain');
  let template = typeof wanted === 'string' ? await namedTemplate(tokenizer, wanted) : statedTemplate(wanted);
  if (choice.name === undefined)
    template = { ...template, ...texts(stated, ['border', 'opening', 'closing']) };
  if (template.border === '' || template.opening === '') {
    throw new VfError('VF_TEMPLATE', 'Expected a border and an opening that are not empty in vf.json', {});
  }
  return choice.border === undefined ? template : withBorder(template, choice.border);
}

async function namedTemplate(tokenizer: Tokenizer, name: string): Promise<Template> {
  if (name === 'chat') {
    const { chatTemplate } = await import('./chat.js');
    return { ...TEMPLATES.plain, ...chatTemplate(tokenizer) };
  }
  const found = Object.entries(TEMPLATES).find(([known]) => known === name)?.[1];
  if (found) return found;
  throw new VfError(
    'VF_INVALID_VALUE',
    `Expected one of ${TEMPLATE_NAMES.join(', ')} for --template but received ${JSON.stringify(name)}`,
  );
}

/** A template written out in vf.json; texts it leaves out are empty, border and patch the paper's. */
function statedTemplate(value: unknown): Template {
  if (typeof value !== 'object' || value === null) {
    throw new VfError(
      'VF_TEMPLATE',
      `Expected a name or an object for "template" in vf.json but received ${value}`,
    );
  }
  const given = texts(value as Record<string, unknown>, ['name', 'before', 'instruction', 'after']);
  return { ...TEMPLATES.raw, name: 'vf.json', ...given };
}

function texts(from: Record<string, unknown>, keys: (keyof Template)[]): Partial<Template> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]] as const);
  const bad = entries.find(([, value]) => typeof value !== 'string');
  if (bad)
    throw new VfError('VF_TEMPLATE', `Expected text for "${bad[0]}" in vf.json but received ${bad[1]}`);
  return Object.fromEntries(entries);
}
