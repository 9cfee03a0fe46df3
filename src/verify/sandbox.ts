/** Runs model-written Python where it can do no harm: bubblewrap, or what was asked for in its place. Fails closed. */

import { availableParallelism } from 'node:os';
import { invalidValue } from '../errors.js';
import type { Backend, SandboxKind, SandboxOptions } from './sandbox-backend.js';
import { openBwrap } from './sandbox-bwrap-open.js';
import { openDeno } from './sandbox-deno.js';
import { resolveLimits, type SandboxLimits } from './sandbox-limits.js';
import { openNone } from './sandbox-none.js';
import type { Enforcement } from './sandbox-probe.js';
import type { ProcessResult } from './sandbox-process.js';
import { type ProgramRun, readRun } from './sandbox-run.js';

export type { SandboxKind, SandboxOptions } from './sandbox-backend.js';
export type { SandboxLimits } from './sandbox-limits.js';
export type { Enforcement } from './sandbox-probe.js';
export type { ProgramOutcome, ProgramRun } from './sandbox-run.js';

/** What the sandbox holds back on this machine, for `vf doctor`, the run's banner and its report. */
export interface SandboxReport {
  kind: SandboxKind;
  /** Such as `Python 3.11.2`. */
  interpreter: string;
  enforced: Enforcement[];
  libraries: { name: string; available: boolean }[];
  limits: SandboxLimits;
  parallel: number;
}

export interface Sandbox {
  readonly report: SandboxReport;
  /** Run one program in a fresh process. Never rejects for anything that the program does. */
  run(program: string): Promise<ProgramRun>;
  /** Kill what runs; later calls to `run` end as sandbox errors. */
  close(): Promise<void>;
}

/**
 * Open a sandbox and prove it: a known program must run, and every escape must fail.
 * @throws VfError (exit code 3) with what to do when the machine lacks something, or an escape was not stopped.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const limits = resolveLimits(options.limits);
  const parallel = options.parallel ?? availableParallelism();
  if (!Number.isSafeInteger(parallel) || parallel < 1) {
    throw invalidValue('parallel', 'a positive whole number', parallel);
  }
  const open = { bwrap: openBwrap, deno: openDeno, none: openNone }[options.kind];
  if (open === undefined) throw invalidValue('sandbox', 'bwrap, deno or none', options.kind);
  const backend = await open(options, limits);
  const { interpreter, enforced, libraries } = backend;
  const report = { kind: options.kind, interpreter, enforced, libraries, limits, parallel };
  return runner(report, backend);
}

/** Names of the probed libraries that programs can import. */
export function availableLibraries(report: SandboxReport): string[] {
  return report.libraries.filter((library) => library.available).map((library) => library.name);
}

/** The report in one line, for a run's banner. */
export function sandboxLine(report: SandboxReport): string {
  const held = report.enforced.filter((check) => check.ok).map((check) => check.name);
  const open = report.enforced.filter((check) => !check.ok).map((check) => check.name);
  const libraries = availableLibraries(report).join(', ') || 'none';
  return [
    `sandbox ${report.kind}, ${report.interpreter}, ${report.parallel} at once`,
    held.length === 0 ? 'NOTHING is enforced' : `enforced: ${held.join(', ')}`,
    ...(open.length === 0 ? [] : [`NOT enforced: ${open.join(', ')}`]),
    `libraries: ${libraries}`,
  ].join('; ');
}

function runner(report: SandboxReport, backend: Backend): Sandbox {
  const abort = new AbortController();
  const waiting: (() => void)[] = [];
  const running = new Set<Promise<ProcessResult>>();
  let free = report.parallel;
  let disposed: Promise<void> | undefined;
  const take = (): Promise<void> => {
    if (free === 0) return new Promise((resolve) => waiting.push(resolve));
    free--;
    return Promise.resolve();
  };
  const give = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    report,
    async run(program) {
      const bytes = Buffer.from(program);
      if (bytes.length > report.limits.programBytes) return readRun('too large');
      await take();
      try {
        if (abort.signal.aborted) return readRun('closed');
        const started = backend.start(bytes, abort.signal);
        running.add(started);
        const result = await started;
        running.delete(started);
        return readRun(result, report.limits);
      } finally {
        give();
      }
    },
    async close() {
      abort.abort();
      await Promise.allSettled(running);
      disposed ??= backend.dispose();
      await disposed;
    },
  };
}
