/** What every kind of sandbox takes and brings, and what to say when it can't be had. */

import { VfError } from '../errors.js';
import type { SandboxLimits } from './sandbox-limits.js';
import type { Enforcement } from './sandbox-probe.js';
import type { ProcessResult } from './sandbox-process.js';

export type SandboxKind = 'bwrap' | 'deno' | 'none';

export interface SandboxOptions {
  /** bwrap unless the user typed another. */
  kind: SandboxKind;
  limits?: Partial<SandboxLimits> | undefined;
  /** Programs at once; the number of cores by default. */
  parallel?: number | undefined;
  /** Full path of bwrap. */
  bwrap?: string | undefined;
  /** Full path of python; never looked up on PATH, where another one may come first. */
  python?: string | undefined;
  /** Folder whose node_modules hold deno and pyodide; VF_DENO_DIR, then this package's own, by default. */
  denoFolder?: string | undefined;
}

/** A kind of sandbox, opened: its own measurements, and a way to start one program. */
export interface Backend {
  /** Such as `Python 3.11.2`. */
  interpreter: string;
  enforced: Enforcement[];
  libraries: { name: string; available: boolean }[];
  start(program: Buffer, abort: AbortSignal): Promise<ProcessResult>;
  /** Called once, after everything has ended. */
  dispose(): Promise<void>;
}

export const defaultPython = '/usr/bin/python3';

/** The three ways out when bubblewrap can't be used on this machine (exit code 3). */
export function sandboxMissing(message: string): VfError {
  return new VfError('VF_SANDBOX_MISSING', message, {
    exitCode: 3,
    hint: [
      'one of these:',
      '1. apt-get install -y bubblewrap python3 python3-sympy (and allow user namespaces: Ubuntu 24.04 needs sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, Docker needs --security-opt seccomp=unconfined)',
      '2. --sandbox deno, after npm install deno pyodide (slower, without a memory limit)',
      '3. --tool smt, which runs no programs',
    ].join('\n'),
  });
}
