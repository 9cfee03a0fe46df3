/** `--sandbox none`: bare python, for users who typed it. Only limits on the process itself hold; nothing is hidden. */

import { accessSync, chownSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backend, defaultPython, type SandboxOptions, sandboxMissing } from './sandbox-backend.js';
import { limitFlags, nobody, prlimit, programEnvironment, pythonCommand } from './sandbox-bwrap.js';
import type { SandboxLimits } from './sandbox-limits.js';
import { type Enforcement, probeLibraries } from './sandbox-probe.js';
import { type ProcessResult, runProcess } from './sandbox-process.js';
import { readRun } from './sandbox-run.js';

/** @throws VfError (exit code 3) when there is no python. */
export async function openNone(options: SandboxOptions, limits: SandboxLimits): Promise<Backend> {
  const python = options.python ?? defaultPython;
  try {
    accessSync(python, constants.X_OK);
  } catch {
    throw sandboxMissing(`Expected ${python} for --sandbox none but it is not there`);
  }
  const root = process.getuid?.() === 0;
  const limited = existsSync(prlimit);
  const scratch = mkdtempSync(join(tmpdir(), 'vf-program-'));
  if (root) chownSync(scratch, nobody, nobody);
  const [command = python, ...args] = [
    ...(limited ? [prlimit, ...limitFlags(limits), '--'] : []),
    ...pythonCommand(python),
  ];
  const { wallMs, stdoutBytes, stderrBytes } = limits;
  const env = programEnvironment(scratch);
  const uid = root ? nobody : undefined;
  const start = (stdin: Buffer, abort?: AbortSignal): Promise<ProcessResult> =>
    runProcess({ command, args, env, cwd: scratch, uid, stdin, wallMs, stdoutBytes, stderrBytes }, abort);
  const run = (program: string): Promise<ProcessResult> => start(Buffer.from(program));
  const version = readRun(await run("import sys\nprint('Python ' + sys.version.split()[0])\n"), limits);
  if (version.line === null)
    throw sandboxMissing(`Expected ${python} to run but it failed: ${version.detail}`);
  return {
    interpreter: version.line,
    enforced: enforcement(root, limited),
    libraries: await probeLibraries(run, limits),
    start,
    dispose: async () => rmSync(scratch, { recursive: true, force: true }),
  };
}

function enforcement(root: boolean, limited: boolean): Enforcement[] {
  const held = limited ? 'by prlimit' : 'prlimit is missing';
  const rows: [string, boolean, string][] = [
    ['environment clean', true, 'no variable of the host'],
    ['output limit', true, 'cut by the reader'],
    ['CPU limit', limited, held],
    ['memory limit', limited, held],
    ['file size limit', limited, held],
    ['open files limit', limited, held],
    ['unprivileged user', root, root ? `uid ${nobody}` : 'your own user'],
    ['host files hidden', false, 'programs read what your user can read'],
    ['read-only outside /tmp', false, 'programs write where your user can write'],
    ['scratch limit', false, 'the disk itself'],
    ['network', false, 'open'],
    ['process limit', false, 'none: your own processes would count'],
    ['processes hidden', false, 'a program that leaves its group outlives the run'],
    ['system-call filter', false, 'none'],
  ];
  return rows.map(([name, ok, detail]) => ({ name, ok, detail }));
}
