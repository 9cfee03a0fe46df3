/** The python tool: the verifier's programs run in a sandbox, each distinct one once, and judge the traces' answers. */

import { VfError } from '../errors.js';
import {
  type Canonical,
  extractProgram,
  type FinishedRun,
  type HardcodedRule,
  judge,
  pythonLanguages,
} from './program.js';
import { pythonPrompt } from './prompt.js';
import { availableLibraries, type Sandbox } from './sandbox.js';
import { type Check, type Tool, type Verdict, verdictOf } from './tool.js';
import { openRunCache, programHash, type RunCache } from './verdicts.js';

export interface PythonToolOptions {
  sandbox: Sandbox;
  canonical: Canonical;
  /** Finished runs; in memory alone by default. */
  cache?: RunCache | undefined;
  /** What a program that only prints literals is worth; `zero` by default. */
  hardcoded?: HardcodedRule | undefined;
  /** Show the verifier the trace's answer; false by default. */
  showAnswer?: boolean | undefined;
  /** Take a reply without a fence as a program; false by default. */
  bare?: boolean | undefined;
  /** Sandbox errors in a row after which `check` throws; 8 by default. */
  maxSandboxErrors?: number | undefined;
}

export interface PythonTool extends Tool {
  /** Runs started, and those that the cache or an identical program spared, since the tool was made. */
  readonly counts: { started: number; spared: number };
}

/**
 * Make the tool. Everything that a program does is a verdict; only sandbox errors in a row are an error.
 * The tool closes its sandbox.
 */
export function pythonTool(options: PythonToolOptions): PythonTool {
  const { sandbox, canonical } = options;
  const rule = options.hardcoded ?? 'zero';
  const runs = programRunner(sandbox, options.cache ?? openRunCache(null), options.maxSandboxErrors ?? 8);
  const promptOptions = {
    libraries: availableLibraries(sandbox.report),
    showAnswer: options.showAnswer ?? false,
  };
  const extract = { languages: pythonLanguages, bare: options.bare ?? false };
  const checkOne = async ({ key, reply }: Check): Promise<Verdict> => {
    if (key === null || key === '') return verdictOf('no answer', 'the trace gave none');
    const program = reply === null ? null : extractProgram(reply, extract);
    if (program === null) return verdictOf('no program', 'no complete block of code');
    return judge(await runs.run(program), key, canonical, rule);
  };
  return {
    name: 'python',
    needsVerifier: true,
    counts: runs.counts,
    prompt: (input) => pythonPrompt(input, promptOptions),
    async check(checks) {
      const settled = await Promise.allSettled(checks.map(checkOne));
      return settled.map((result) => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      });
    },
    close: () => sandbox.close(),
  };
}

interface ProgramRunner {
  run(program: string): Promise<FinishedRun>;
  readonly counts: { started: number; spared: number };
}

/** Runs programs through a cache; sandbox errors are never kept, and too many in a row stop everything. */
function programRunner(sandbox: Sandbox, cache: RunCache, maxErrors: number): ProgramRunner {
  const running = new Map<string, Promise<FinishedRun>>();
  const counts = { started: 0, spared: 0 };
  let errorsInRow = 0;
  let failure: VfError | null = null;
  const start = async (program: string, hash: string): Promise<FinishedRun> => {
    counts.started++;
    const run = await sandbox.run(program);
    if (run.outcome !== 'sandbox error') {
      errorsInRow = 0;
      cache.put(hash, run);
      return run;
    }
    errorsInRow++;
    if (errorsInRow >= maxErrors) {
      failure ??= new VfError(
        'VF_SANDBOX_FAILED',
        `Expected programs to run but ${errorsInRow} sandbox errors came in a row: ${run.detail}`,
        {
          exitCode: 1,
          hint: 'vf doctor shows what the sandbox can do on this machine',
        },
      );
      await sandbox.close();
    }
    return run;
  };
  return {
    counts,
    async run(program) {
      const hash = programHash(program, sandbox.report);
      const kept = cache.get(hash);
      const same = running.get(hash);
      if (kept !== undefined || same !== undefined) counts.spared++;
      if (kept !== undefined) return kept;
      const started = same ?? start(program, hash);
      running.set(hash, started);
      try {
        const run = await started;
        if (failure !== null) throw failure;
        return run;
      } finally {
        running.delete(hash);
      }
    },
  };
}
