/** What the verifier is asked: the question, the trace without its answer, and the order to recompute. */

import type { VerifierPrompt } from './tool.js';

export interface PromptOptions {
  /** Libraries that the sandbox can import. */
  libraries: readonly string[];
  /** Show the trace's answer (an ablation: it invites copying). */
  showAnswer: boolean;
}

export interface Prompted {
  question: string;
  trace: string;
  answer: string | null;
}

/** The request for a Python program. */
export function pythonPrompt(input: Prompted, options: PromptOptions): VerifierPrompt {
  const libraries =
    options.libraries.length === 0 ? 'only the standard library' : options.libraries.join(', ');
  return {
    system: [
      'You check answers by computing them. You get a question and somebody’s reasoning about it.',
      'Do not trust the reasoning: it may be wrong at any step. Compute the answer again from the question.',
      'Write one short Python program in a ```python block. It must calculate the answer, not state it,',
      'and print the answer alone on its last line, as a whole number or a fraction where it is one.',
      `It reads no input, no files and no network. It can import ${libraries}.`,
    ].join('\n'),
    user: request(input, options.showAnswer, 'Write the program.'),
  };
}

/** The request for an SMT-LIB 2 encoding of a puzzle; the solver adds the claim itself. */
export function smtPrompt(input: Prompted, options: Pick<PromptOptions, 'showAnswer'>): VerifierPrompt {
  return {
    system: [
      'You translate puzzles for a solver. You get a puzzle about knights, who always tell the truth, and knaves, who always lie,',
      'and somebody’s reasoning about it. Do not trust the reasoning: translate the puzzle itself.',
      'Write SMT-LIB 2 in a ```smt2 block: (declare-const NAME Bool) for each person, with the name as the puzzle spells it,',
      'true for a knight; and for each statement (assert (= NAME CLAIM)). Assert nothing that nobody said.',
    ].join('\n'),
    user: request(input, options.showAnswer, 'Write the translation.'),
  };
}

function request(input: Prompted, showAnswer: boolean, order: string): string {
  const parts = [`Question:\n${input.question.trim()}`, `Reasoning:\n${hideAnswer(input.trace) || '(none)'}`];
  if (showAnswer && input.answer !== null) parts.push(`Claimed answer: ${input.answer}`);
  return [...parts, order].join('\n\n');
}

/**
 * A trace without its final answer: the last `\boxed{…}` goes with the sentence around it and everything in an answer
 * tag; where there is no box, a last sentence that says "answer is" goes. The steps before it stay.
 */
export function hideAnswer(trace: string): string {
  const tag = trace.lastIndexOf('<answer');
  const text = tag < 0 ? trace : trace.slice(0, tag);
  const box = text.lastIndexOf('\\boxed');
  const spot = box >= 0 ? box : lastAnswerPhrase(text);
  if (spot < 0) return text.trim();
  const start = sentenceStart(text, spot);
  const end = sentenceEnd(text, box >= 0 ? boxEnd(text, box) : spot);
  return `${text.slice(0, start)}${text.slice(end)}`.trim();
}

function lastAnswerPhrase(text: string): number {
  let last = -1;
  for (const match of text.matchAll(/\banswer\s*(?:is|:|=)/gi)) last = match.index;
  // Only in the last sentence: an earlier one may speak of a part's answer.
  return last >= 0 && text.slice(sentenceEnd(text, last)).trim() === '' ? last : -1;
}

function boxEnd(text: string, box: number): number {
  let depth = 0;
  for (let i = text.indexOf('{', box); i >= 0 && i < text.length; i++) {
    if (text[i] === '{') depth++;
    if (text[i] === '}' && --depth === 0) return i + 1;
  }
  return text.length;
}

function sentenceStart(text: string, spot: number): number {
  for (let i = spot; i > 0; i--) {
    const before = text[i - 1]!;
    if (before === '\n') return i;
    if (/[.!?]/.test(before) && (i === spot || /[\s$\\]/.test(text[i]!))) return i;
  }
  return 0;
}

function sentenceEnd(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\n') return i;
    if (/[.!?]/.test(text[i]!) && (i + 1 === text.length || /\s/.test(text[i + 1]!))) return i + 1;
  }
  return text.length;
}
