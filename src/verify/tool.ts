/** The tool interface: a trace's answer in, v ∈ {0, 1} out with its reason. The same for python, smt and none. */

import type { ProgramOutcome } from './sandbox-run.js';
import type { VerdictValue } from './tally.js';

/** Why a verdict is what it is. */
export type VerdictReason =
  | Exclude<ProgramOutcome, 'ok'>
  | 'verified'
  | 'refuted'
  | 'no answer'
  | 'no program'
  | 'hardcoded'
  /** smt: the encoding contradicts itself, so that it would entail anything. */
  | 'inconsistent'
  /** smt: the encoding allows the claim and its opposite. */
  | 'ambiguous'
  | 'not checked';

/** Reasons that say nothing about the answer: they weigh 1 in the vote and count towards `--max-missing`. */
export const missingReasons: ReadonlySet<VerdictReason> = new Set<VerdictReason>([
  'timeout',
  'wall backstop',
  'missing import',
  'sandbox error',
]);

export interface Verdict {
  value: VerdictValue;
  reason: VerdictReason;
  /** What the tool said, in one line. */
  detail: string;
  /** The tool's own answer as it printed it; null when it gave none. */
  output: string | null;
  /** The program only prints what it was given: no evidence, whatever it prints. */
  hardcoded: boolean;
}

/** One trace to check. */
export interface Check {
  question: string;
  /** The policy's text, as sampled. */
  trace: string;
  /** The trace's own answer as extracted, and its canonical key; both null when it gave none. */
  answer: string | null;
  key: string | null;
  /** What the verifier wrote; null for tools that need no verifier. */
  reply: string | null;
}

/** Texts for the verifier; the caller puts them into its model's chat template. */
export interface VerifierPrompt {
  system: string;
  user: string;
}

export interface Tool {
  readonly name: 'python' | 'smt' | 'none';
  /** A model must write a program for each trace: ask it `prompt`, pass its text as `reply`. */
  readonly needsVerifier: boolean;
  prompt(check: { question: string; trace: string; answer: string | null }): VerifierPrompt;
  /**
   * Verdicts in the order of the checks. What a program does wrong is a verdict.
   * @throws VfError when the tool itself keeps failing.
   */
  check(checks: readonly Check[]): Promise<Verdict[]>;
  close(): Promise<void>;
}

/** A verdict whose value follows from its reason. */
export function verdictOf(
  reason: VerdictReason,
  detail = '',
  more: { output?: string | null; hardcoded?: boolean } = {},
): Verdict {
  const value: VerdictValue = reason === 'verified' ? 1 : missingReasons.has(reason) ? 'missing' : 0;
  return { value, reason, detail, output: more.output ?? null, hardcoded: more.hardcoded ?? false };
}

/** How many verdicts have each reason, as flat metrics `verdict/<reason>`; hardcoded programs are counted apart too. */
export function verdictCounts(verdicts: readonly Verdict[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of verdicts) {
    const name = `verdict/${reason.replaceAll(' ', '_')}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  counts['verdict/programs_hardcoded'] = verdicts.filter((verdict) => verdict.hardcoded).length;
  return counts;
}

/** The tool of `--tool none`: checks nothing, so that every vote weighs 1. */
export const noTool: Tool = {
  name: 'none',
  needsVerifier: false,
  prompt: () => ({ system: '', user: '' }),
  check: async (checks) => checks.map(({ key }) => verdictOf(key === null ? 'no answer' : 'not checked')),
  close: async () => undefined,
};
