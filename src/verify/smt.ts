/** The smt tool: an answer is verified when the puzzle's encoding can be true and forces it. */

import { VfError } from '../errors.js';
import { encodeKnights, solutionTerm } from './knights-smt.js';
import { extractProgram } from './program.js';
import { smtPrompt } from './prompt.js';
import { readEncoding } from './smt-script.js';
import { openSolver, type Solver, type SolverOptions } from './smt-solver.js';
import { type Check, type Tool, type Verdict, verdictOf } from './tool.js';

export interface SmtToolOptions extends SolverOptions {
  /** Who translates the puzzle: the verifier model, or the built-in rules (which need no model). */
  encoder: 'model' | 'rules';
  showAnswer?: boolean | undefined;
  /** Take a reply without a fence as an encoding; false by default. */
  bare?: boolean | undefined;
  /** Solver failures in a row after which `check` throws; 8 by default. */
  maxSolverErrors?: number | undefined;
}

const smtLanguages = ['smt2', 'smt', 'smtlib', 'smt-lib', 'smtlib2', 'lisp'];

/**
 * The verdict on a claim under an encoding. Verified: the encoding is satisfiable, encoding ∧ ¬claim is not, and no
 * query printed an error (z3 answers `sat` even after one). An encoding that contradicts itself entails anything, one
 * that allows the claim's opposite does not entail it, and `unknown` says nothing: it is missing.
 */
export async function checkClaim(solver: Solver, encoding: string, claim: string): Promise<Verdict> {
  const read = readEncoding(encoding);
  if (read instanceof Error) return verdictOf('syntax error', read.message);
  const query = (assertion: string): string =>
    `${read.commands}\n${assertion}\n(check-sat)\n(get-info :reason-unknown)`;
  const result = await solver.run([query(''), query(`(assert (not ${claim}))`), query(`(assert ${claim})`)]);
  if (result.end !== 'done')
    return verdictOf(result.end === 'wall' ? 'wall backstop' : 'sandbox error', result.detail);
  const error = result.outputs.join('\n').match(/\(error.*/)?.[0];
  if (error !== undefined) return verdictOf('syntax error', error.slice(0, 300));
  const [puzzle, opposite, claimed] = result.outputs.map((output) => output.trim().split(/\s/)[0]);
  if (puzzle === 'unsat') return verdictOf('inconsistent', 'the encoding contradicts itself');
  if (puzzle === 'unknown' || opposite === 'unknown') {
    const why = /:reason-unknown "([^"]*)"/.exec(result.outputs[puzzle === 'unknown' ? 0 : 1]!)?.[1];
    return verdictOf(
      'timeout',
      `unknown: ${why === 'canceled' ? 'resource limit' : (why ?? 'no reason given')}`,
    );
  }
  if (puzzle === 'sat' && opposite === 'unsat') return verdictOf('verified', '', { output: claim });
  if (puzzle !== 'sat' || opposite !== 'sat') return verdictOf('no output', 'the solver gave no answer');
  if (claimed === 'sat') return verdictOf('ambiguous', 'the claim is possible but not forced');
  return verdictOf('refuted', 'the claim is impossible');
}

/** Make the tool: one solver thread, equal questions asked once. */
export function smtTool(options: SmtToolOptions): Tool {
  const solver = openSolver(options);
  const known = new Map<string, Promise<Verdict>>();
  const maxErrors = options.maxSolverErrors ?? 8;
  let errorsInRow = 0;
  const solve = async (encoding: string, claim: string): Promise<Verdict> => {
    const verdict = await checkClaim(solver, encoding, claim);
    errorsInRow = verdict.reason === 'sandbox error' ? errorsInRow + 1 : 0;
    if (errorsInRow >= maxErrors) {
      throw new VfError(
        'VF_SOLVER_FAILED',
        `Expected z3 to answer but it failed ${errorsInRow} times in a row: ${verdict.detail}`,
        {
          exitCode: 1,
          hint: 'vf doctor shows what works on this machine',
        },
      );
    }
    return verdict;
  };
  const checkOne = async (check: Check): Promise<Verdict> => {
    if (check.answer === null || check.key === null) return verdictOf('no answer', 'the trace gave none');
    const encoded = encode(check, options);
    if (encoded === null) return verdictOf('no program', 'no encoding');
    const claim = solutionTerm(check.answer, encoded.names);
    if (claim === null) return verdictOf('refuted', 'the answer does not name each person once');
    const key = `${encoded.encoding}\n${claim}`;
    const verdict = known.get(key) ?? solve(encoded.encoding, claim);
    known.set(key, verdict);
    const value = await verdict;
    if (value.reason === 'sandbox error') known.delete(key);
    return value;
  };
  return {
    name: 'smt',
    needsVerifier: options.encoder === 'model',
    prompt: (input) => smtPrompt(input, { showAnswer: options.showAnswer ?? false }),
    async check(checks) {
      const settled = await Promise.allSettled(checks.map(checkOne));
      return settled.map((result) => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      });
    },
    close: () => solver.close(),
  };
}

/** The encoding, and whom an answer must name: the puzzle's people, or the encoding's constants for other puzzles. */
function encode(check: Check, options: SmtToolOptions): { names: string[]; encoding: string } | null {
  const byRule = encodeKnights(check.question);
  if (options.encoder === 'rules') return byRule;
  const extract = { languages: smtLanguages, bare: options.bare ?? false };
  const encoding = check.reply === null ? null : extractProgram(check.reply, extract);
  if (encoding === null) return null;
  const read = readEncoding(encoding);
  const constants = read instanceof Error ? [] : read.constants;
  return { names: byRule?.names ?? constants, encoding };
}
