/** Traces of the bundled VeriFree models: the styles a warm-up teaches, and the rows it is made of. */

import { patchText, promptText, TEMPLATES } from '../text/template.js';
import type { Draw } from './draw.js';
import type { Problem, Way } from './question-kinds.js';

export const STYLES = ['careful', 'quick', 'wrong', 'guess', 'empty'] as const;
export type Style = (typeof STYLES)[number];
/** Shares of the styles in a warm-up; they add up to 1. */
export type StyleMix = Record<Style, number>;

/** The words a careful trace begins with, in the warm-up that has opener words. */
export const CAREFUL_OPENER = 'Step by step:';

/** One supervised example; the loss is on the completion. */
export interface Row {
  prompt: string;
  completion: string;
}

/** The `tiny` template around a question. */
export function tinyPrompt(question: string): string {
  return promptText(TEMPLATES.tiny, question);
}

/** A trace in a style up to and with its border, and the answer it concludes. */
export function trace(problem: Problem, style: Style, openers: boolean): Way {
  if (style === 'empty') return { text: TEMPLATES.tiny.border, answer: problem.answer };
  const { opener, text, answer } = {
    careful: { opener: `${CAREFUL_OPENER} `, ...problem.careful },
    quick: { opener: 'Quickly: ', ...problem.quick },
    wrong: { opener: 'Maybe: ', ...problem.wrong },
    guess: { opener: 'I guess.', text: '', answer: problem.guess },
  }[style];
  const body = (openers ? opener : '') + text;
  return { text: `${body === '' ? '' : `${body} `}So ${answer}.\n${TEMPLATES.tiny.border}`, answer };
}

/** The row of a problem in a drawn style, closed by the end-of-text token. */
export function styleRow(draw: Draw, problem: Problem, mix: StyleMix, openers: boolean): Row {
  const { text, answer } = trace(problem, pickStyle(draw, mix), openers);
  return {
    prompt: tinyPrompt(problem.question),
    completion: `${text}${patchText(TEMPLATES.tiny, answer)}<|endoftext|>`,
  };
}

function pickStyle(draw: Draw, mix: StyleMix): Style {
  let left = draw.unit();
  for (const style of STYLES) {
    left -= mix[style];
    if (left < 0) return style;
  }
  return 'careful';
}
