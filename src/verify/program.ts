/** From a verifier's reply to a program, and from what the program printed to a verdict. */

import type { ProgramRun } from './sandbox-run.js';
import { type Verdict, verdictOf } from './tool.js';

/** Canonical key of an answer; null when it is none. */
export type Canonical = (answer: string) => string | null;

export interface ExtractOptions {
  /** Info strings of fenced blocks that may hold the program, beside none at all. */
  languages: readonly string[];
  /** Take a reply without any fence as the program itself. */
  bare: boolean;
}

/** What `judge` reads of a run, and what is kept of one. */
export type FinishedRun = Pick<ProgramRun, 'outcome' | 'line' | 'detail' | 'literal'>;

/** What a program that only prints literals is worth: `zero` is v = 0; `count` only marks it; `off` ignores it. */
export type HardcodedRule = 'zero' | 'count' | 'off';

export const pythonLanguages = ['python', 'python3', 'py'] as const;

/**
 * The program in a reply: the last complete fenced block that is tagged with one of the languages or not at all. A block
 * that is never closed (a truncated reply) is no program. Null when there is none, or it is blank.
 */
export function extractProgram(reply: string, options: ExtractOptions): string | null {
  const lines = reply.split(/\r\n|\r|\n/);
  let found: string | null = null;
  let open: { fence: string; wanted: boolean; from: number } | null = null;
  let fences = 0;
  lines.forEach((line, i) => {
    const match = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (match === null) return;
    const [, fence = '', info = ''] = match;
    fences++;
    if (open === null) {
      const tag = info.trim().split(/[\s{]/)[0]?.toLowerCase() ?? '';
      open = { fence, wanted: tag === '' || options.languages.includes(tag), from: i + 1 };
    } else if (fence[0] === open.fence[0] && fence.length >= open.fence.length && info.trim() === '') {
      if (open.wanted) found = lines.slice(open.from, i).join('\n');
      open = null;
    }
  });
  const program: string | null = fences === 0 && options.bare ? reply.trim() : found;
  return program === null || (program as string).trim() === '' ? null : `${program}\n`;
}

/**
 * The verdict on a program's run: v = 1 if and only if it ended well and its last non-empty line means the same as the
 * trace's own answer. Only stdout counts, and only at exit code 0. How near a printed float must come is the key's matter.
 * @param key canonical key of the trace's answer
 */
export function judge(run: FinishedRun, key: string, canonical: Canonical, rule: HardcodedRule): Verdict {
  if (run.outcome !== 'ok' || run.line === null) {
    return verdictOf(run.outcome === 'ok' ? 'no output' : run.outcome, run.detail, { output: run.line });
  }
  const hardcoded = rule !== 'off' && run.literal === true;
  const more = { output: run.line, hardcoded };
  if (hardcoded && rule === 'zero') return verdictOf('hardcoded', 'everything it prints is a literal', more);
  return verdictOf(canonical(run.line) === key ? 'verified' : 'refuted', '', more);
}
