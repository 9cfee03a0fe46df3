/** Prompt styles: the bytes around a question as published, and where a trace ends for the confidence. */

import { promptParts, type Template } from '../text/template.js';
import type { PromptPart } from '../text/tokenizer.js';
import { letterOf } from './rows.js';
import type { Item } from './task.js';

export const PROMPT_STYLES = ['verifree', 'mmlu-pro', 'general-reasoner', 'plain'] as const;
export type PromptStyleName = (typeof PROMPT_STYLES)[number];

/** What stands around the user's turn: nothing for base models, a chat template when asked. */
export interface Turn {
  before: string;
  after: string;
}

/** Examples put before the question: items with worked solutions, or a text as it is. */
export interface Examples {
  items: readonly Item[];
  text: string | null;
}

export interface PromptStyle {
  name: PromptStyleName;
  /** Takes worked examples. */
  fewShot: boolean;
  /** Asks for a box: nothing but a box is read where the task says `boxed`. */
  boxed: boolean;
  parts(item: Item, examples: Examples): PromptPart[];
  stops: readonly string[];
  /** A trace ends where its text first ends in this; the gold follows between opening and closing. */
  border: string;
  opening: string;
  closing: string;
}

const LETTER_ONLY = '\nPlease only provide the letter of the answer in the box.';
const BOX = 'Please reason step by step, and put your final answer within \\boxed{}.';
const BOX_OPTION =
  'Please reason step by step, and put your final answer option within \\boxed{}. ' +
  'Only put the option letter in the box, e.g. \\boxed{A}. There is only one correct answer.';

/** Options that are not in the question yet. */
function shownOptions(item: Item): readonly string[] {
  return item.optionsInQuestion === true ? [] : (item.options ?? []);
}

/**
 * VeriFree's (Template 1 and the GPQA query of its evaluation) in the model's own template: `A: text` lines between
 * blank lines, and where the template instructs, the request for the letter alone.
 */
export function templateStyle(name: 'verifree' | 'plain', template: Template, stop: string): PromptStyle {
  return {
    name,
    fewShot: false,
    boxed: true,
    parts(item) {
      const options = shownOptions(item);
      const lines = options.map((text, i) => `${letterOf(i)}: ${text}\n`);
      const data = options.length === 0 ? item.question : `${item.question}\n\n${lines.join('')}`;
      const asks = item.judge === 'choice' && template.instruction !== '';
      const instruction = asks ? template.instruction + LETTER_ONLY : template.instruction;
      return promptParts({ ...template, instruction }, data);
    },
    stops: [stop],
    border: template.border,
    opening: template.opening,
    closing: template.closing,
  };
}

/** General-Reasoner's evaluation scripts: `(A): text` under "Options are:", a box with the letter. */
export function generalReasonerStyle(turn: Turn): PromptStyle {
  return {
    name: 'general-reasoner',
    fewShot: false,
    boxed: true,
    parts(item) {
      const lines = shownOptions(item).map((text, i) => `(${letterOf(i)}): ${text}`);
      const list = lines.length === 0 ? '' : `\nOptions are:\n${lines.join('\n')}`;
      return wrapped(turn, item.question + list, `\n\n${item.judge === 'choice' ? BOX_OPTION : BOX}`);
    },
    stops: [],
    border: '\\boxed',
    opening: '{',
    closing: '}',
  };
}

/** MMLU-Pro's completion prompt with worked examples; free answers as `Question: … Answer:`. */
export function mmluProStyle(turn: Turn): PromptStyle {
  return {
    name: 'mmlu-pro',
    fewShot: true,
    boxed: false,
    parts(item, examples) {
      if (examples.text !== null) {
        return wrapped(turn, `${examples.text}\n\nQ: ${item.question}\nA: Let's think step by step.\n`, '');
      }
      const solved = examples.items.map((example) => completion(example, example.solution ?? ''));
      const text = head(item) + solved.join('') + completion(item, null);
      return wrapped(turn, text, '');
    },
    stops: ['Question:', 'Q:'],
    border: 'answer is',
    opening: ' (',
    closing: ')',
  };
}

function head({ judge, category }: Item): string {
  if (judge !== 'choice') return '';
  const subject = category === '' ? 'many subjects' : category;
  return (
    `You are an expert in ${subject}. Below is a series of example questions (with answers) about ${subject} for ` +
    'demonstration. You will be given a question at the end, after the examples, for you to answer. First give ' +
    'step-by-step reasoning about how to solve the question. Then output the answer.\n'
  );
}

/** @param solution null for the question to be answered. */
function completion(item: Item, solution: string | null): string {
  if (item.judge !== 'choice') {
    return `Question: ${item.question}\nAnswer:${solution === null ? '' : ` ${solution}\n\n`}`;
  }
  const lines = shownOptions(item).map((text, i) => `${letterOf(i)}. ${text}\n`);
  const options = lines.length === 0 ? '' : `Options:\n${lines.join('')}`;
  const end = solution === null ? "Answer: Let's think step by step." : `${solution}\n\n`;
  return `Question:\n${item.question}\n${options}${end}`;
}

function wrapped(turn: Turn, data: string, instruction: string): PromptPart[] {
  const parts = [{ literal: turn.before }, { data: data + instruction }, { literal: turn.after }];
  return parts.filter((part) => ('data' in part ? part.data : part.literal) !== '');
}

/** The prompt's text. */
export function partsText(parts: readonly PromptPart[]): string {
  return parts.map((part) => ('data' in part ? part.data : part.literal)).join('');
}
