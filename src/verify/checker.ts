/** Checks the traces of a step: the verifier writes a program for each answer, the tool runs it and says what it showed. */

import type { Group } from '../rollout/trajectory.js';
import { type Check, type Tool, type Verdict, verdictOf } from './tool.js';
import type { Verifier, VerifierReplies } from './verifier.js';

/** A trace's own answer: as extracted, and its canonical key. Both null when it gave none. */
export interface TraceAnswer {
  text: string | null;
  key: string | null;
}

export interface Checked {
  /** [groups][traces], in order. */
  verdicts: Verdict[][];
  /** What the verifier spent; null when the tool needs none. */
  replies: Omit<VerifierReplies, 'texts'> | null;
  /** The tool's own time. */
  executeSeconds: number;
}

export interface TraceChecker {
  /** Parameters of the verifier, 0 without one. */
  readonly parameters: number;
  /** @param answers [groups][traces] */
  check(groups: readonly Group[], answers: readonly TraceAnswer[][], step: number): Promise<Checked>;
}

/** Only traces with an answer are sent to the verifier; the others have nothing to check. */
export function traceChecker(tool: Tool, verifier: Verifier | null): TraceChecker {
  return {
    parameters: verifier?.parameters ?? 0,
    async check(groups, answers, step) {
      const checks: Check[] = [];
      const places: { group: number; trace: number }[] = [];
      groups.forEach(({ question, traces }, group) => {
        traces.forEach(({ text }, trace) => {
          const { text: answer, key } = answers[group]![trace]!;
          if (key === null) return;
          checks.push({ question: question.question, trace: text, answer, key, reply: null });
          places.push({ group, trace });
        });
      });
      const replies = await ask(tool, verifier, groups, checks, places, step);
      replies?.texts.forEach((text, i) => {
        checks[i]!.reply = text;
      });
      const started = performance.now();
      const found = await tool.check(checks);
      const executeSeconds = (performance.now() - started) / 1000;
      const verdicts = groups.map(({ traces }) =>
        traces.map(() => verdictOf('no answer', 'the trace gave none')),
      );
      places.forEach(({ group, trace }, i) => {
        verdicts[group]![trace] = found[i]!;
      });
      return { verdicts, replies, executeSeconds };
    },
  };
}

async function ask(
  tool: Tool,
  verifier: Verifier | null,
  groups: readonly Group[],
  checks: readonly Check[],
  places: readonly { group: number; trace: number }[],
  step: number,
): Promise<VerifierReplies | null> {
  if (!tool.needsVerifier || verifier === null) return null;
  if (checks.length === 0) return { texts: [], promptTokens: 0, generatedTokens: 0, seconds: 0 };
  const requests = checks.map(({ question, trace, answer }, i) => {
    const { group, trace: sample } = places[i]!;
    const { question: source, occurrence } = groups[group]!;
    const prompt = tool.prompt({ question, trace, answer });
    return { question, trace, answer, prompt, source, occurrence, sample };
  });
  return verifier.ask(requests, step);
}
