/** Warm-up rows of the bundled test-time model: it answers, it checks by writing programs, and it drills its sums. */

import {
  BIASED_CATEGORIES,
  type BiasedCategory,
  type BiasedProblem,
  makeBiasedProblem,
  sharesOf,
} from './biased-kinds.js';
import type { Draw } from './draw.js';
import { type Row, tinyPrompt } from './verifree-traces.js';

/** Right, wrong-rule and broken programs among a verifier's warm-up rows. */
export type ProgramShares = (category: BiasedCategory) => [right: number, wrong: number];

/** The texts around question and trace in the verifier's prompt; they stand in the model's vf.json. */
export const VERIFIER_TEXTS = {
  before: '<|im_start|>',
  between: ' Trace: ',
  after: ' Python:<|im_end|>',
} as const;

/** The verifier's prompt: question and trace, the trace without its box. */
export function verifierPrompt(question: string, trace: string): string {
  const { before, between, after } = VERIFIER_TEXTS;
  return before + question + between + trace + after;
}

/** A problem whose question is not held. */
export function freeProblem(draw: Draw, held: ReadonlySet<string>, category?: BiasedCategory): BiasedProblem {
  for (;;) {
    const problem = makeBiasedProblem(draw, category ?? draw.pick(BIASED_CATEGORIES));
    if (!held.has(problem.question)) return problem;
  }
}

/** Question → trace and box, by the right or the wrong rule in the category's share. */
export function policyRow(draw: Draw, problem: BiasedProblem): Row {
  const { text, answer } = toldWay(draw, problem);
  return {
    prompt: tinyPrompt(problem.question),
    completion: `${text} \\boxed{${answer}}<|endoftext|>`,
  };
}

/** Question and trace → program. The program is drawn independently of whether the trace is right. */
export function verifierRow(draw: Draw, problem: BiasedProblem, shares: ProgramShares): Row {
  const { text, answer } = toldWay(draw, problem);
  return checkRow(problem, text, programFor(draw, problem, answer, shares));
}

/** Question and trace → a program that prints what the trace says: no check at all. */
export function copyRow(draw: Draw, problem: BiasedProblem): Row {
  const { text, answer } = toldWay(draw, problem);
  return checkRow(problem, text, `print(${answer})`);
}

/** Four sums of the kinds that traces hold: the policy's arithmetic is what limits it. */
export function drillRow(draw: Draw, held: ReadonlySet<string>): Row {
  const sums = Array.from({ length: 4 }, () => {
    const problem = freeProblem(draw, held);
    const told = (draw.chance(0.5) ? problem.right : problem.wrong).text.slice(0, -1).split(', ');
    return draw.chance(0.6) ? told.at(-1)! : told[0]!;
  });
  return { prompt: tinyPrompt('Sums'), completion: `${sums.join(', ')}.<|endoftext|>` };
}

/** The usual shares of a category. */
export const usualShares: ProgramShares = (category) => sharesOf(category).programs;

function toldWay(draw: Draw, problem: BiasedProblem): { text: string; answer: string } {
  const { wrongTraces } = sharesOf(problem.category);
  return draw.chance(wrongTraces) ? problem.wrong : problem.right;
}

function checkRow(problem: BiasedProblem, text: string, program: string): Row {
  return {
    prompt: verifierPrompt(problem.question, text),
    completion: `\`\`\`\n${program}\n\`\`\`<|endoftext|>`,
  };
}

/** Broken programs copy the trace's answer or lack one character. */
function programFor(draw: Draw, problem: BiasedProblem, answer: string, shares: ProgramShares): string {
  const [right, wrong] = shares(problem.category);
  const place = draw.unit();
  if (place < right) return problem.program;
  if (place < right + wrong) return problem.wrongProgram;
  if (draw.chance(0.5)) return `print(${answer})`;
  const lost = draw.int(0, problem.program.length - 1);
  return problem.program.slice(0, lost) + problem.program.slice(lost + 1);
}
