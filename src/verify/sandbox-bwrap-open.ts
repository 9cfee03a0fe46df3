/** Opens the bubblewrap sandbox: finds its parts, runs the probe, and refuses when anything is not enforced. */

import { accessSync, constants } from 'node:fs';
import { VfError } from '../errors.js';
import { type Backend, defaultPython, type SandboxOptions, sandboxMissing } from './sandbox-backend.js';
import { bwrapCommand, killFirst, neededPrograms, nobody } from './sandbox-bwrap.js';
import type { SandboxLimits } from './sandbox-limits.js';
import {
  type Enforcement,
  enforcementCount,
  escapeProgram,
  probeLibraries,
  readEnforcement,
} from './sandbox-probe.js';
import { type ProcessResult, runProcess } from './sandbox-process.js';
import { lastLine, readRun } from './sandbox-run.js';
import { seccompFilter } from './sandbox-seccomp.js';

const knownProgram = "import sys\nprint('Python ' + sys.version.split()[0])\n";
const versionWallMs = 10_000;

/**
 * @throws VfError (exit code 3) with three remedies when bwrap or python is missing or user namespaces are refused, and
 * with what was not enforced when an escape attempt went through.
 */
export async function openBwrap(options: SandboxOptions, limits: SandboxLimits): Promise<Backend> {
  const bwrap = options.bwrap ?? '/usr/bin/bwrap';
  const python = options.python ?? defaultPython;
  const filter = seccompFilter(process.arch);
  if (process.platform !== 'linux' || filter === null) {
    throw sandboxMissing(
      `Expected Linux on x86-64 or arm64 for the bubblewrap sandbox but this is ${process.platform} on ${process.arch}`,
    );
  }
  for (const path of [bwrap, ...neededPrograms(python)]) requireProgram(path);
  const uid = process.getuid?.() === 0 ? nobody : undefined;
  const bare = { env: {}, cwd: '/', uid, stdin: Buffer.alloc(0), stdoutBytes: 4096, stderrBytes: 4096 };
  const version = await runProcess({ ...bare, command: bwrap, args: ['--version'], wallMs: versionWallMs });
  const disableUserns = atLeast(/(\d+)\.(\d+)/.exec(version.stdout.toString()), [0, 8]);
  const command = bwrapCommand({ bwrap, python, limits, disableUserns });
  const first = await runProcess({ ...bare, ...killFirst(['/usr/bin/true']), wallMs: versionWallMs });
  const { wallMs, stdoutBytes, stderrBytes } = limits;
  const outer = first.exitCode === 0 ? killFirst([command.command, ...command.args]) : command;
  const start = (stdin: Buffer, abort?: AbortSignal): Promise<ProcessResult> =>
    runProcess(
      { ...outer, env: {}, cwd: '/', uid, stdin, fd4: filter, wallMs, stdoutBytes, stderrBytes },
      abort,
    );
  const run = (program: string): Promise<ProcessResult> => start(Buffer.from(program));

  const interpreter = await firstRun(run, limits);
  const enforced = await proveEscapes(run, limits);
  enforced.push({
    name: 'first to go when memory runs out',
    ok: first.exitCode === 0,
    detail:
      first.exitCode === 0
        ? 'oom_score_adj 1000'
        : 'choom is missing or refused; the memory limit holds for each process',
  });
  const libraries = await probeLibraries(run, limits);
  return { interpreter, enforced, libraries, start, dispose: async () => undefined };
}

function requireProgram(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw sandboxMissing(`Expected ${path} for the sandbox but it is not there`);
  }
}

async function firstRun(
  run: (program: string) => Promise<ProcessResult>,
  limits: SandboxLimits,
): Promise<string> {
  const result = await run(knownProgram);
  const { outcome, line, detail } = readRun(result, limits);
  if (outcome === 'ok' && line?.startsWith('Python 3.')) return line;
  const said = lastLine(result.stderr.toString()) ?? detail;
  throw sandboxMissing(`Expected bubblewrap to start a program but it failed (${outcome}): ${said}`);
}

async function proveEscapes(
  run: (program: string) => Promise<ProcessResult>,
  limits: SandboxLimits,
): Promise<Enforcement[]> {
  const { outcome, stdout, detail } = readRun(await run(escapeProgram(limits)), limits);
  const enforced = readEnforcement(stdout);
  const open = enforced.filter((check) => !check.ok);
  if (outcome === 'ok' && open.length === 0 && enforced.length === enforcementCount) return enforced;
  const what =
    open.length > 0
      ? open.map((check) => `${check.name} (${check.detail})`).join(', ')
      : `only ${enforced.length} of ${enforcementCount} checks were made: ${detail}`;
  throw new VfError(
    'VF_SANDBOX_OPEN',
    `Expected the sandbox to stop every escape but it does not enforce: ${what}`,
    {
      exitCode: 3,
      hint: '--sandbox deno after npm install deno pyodide, or --tool smt, which runs no programs',
    },
  );
}

function atLeast(match: RegExpExecArray | null, least: readonly [number, number]): boolean {
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > least[0] || (major === least[0] && minor >= least[1]);
}
