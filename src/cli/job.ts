/** Runs a long job: settings, run folder, event stream, reporters, interrupts and the exit code. */

import { callOptions, type Resolved, resolveConfig, transientNames } from '../config/resolve.js';
import type { CommandName } from '../config/schema.js';
import { VfError } from '../errors.js';
import type { Emit, RunEvent } from '../run/events.js';
import { emitter, runLog } from '../run/log.js';
import { openRun, placeRun, type RunStore, readStoredConfig } from '../run/store.js';
import { openReporter, type Reporter, reporterKind, type Terminal } from '../ui/reporter.js';
import type { Call } from './command.js';
import { failureExitCode, failureRecord, formatFailure, isDebug } from './failure.js';
import { type Interrupt, listenForInterrupt } from './interrupt.js';
import { keepRunningWithoutStdout, writeErr, writeOut } from './output.js';
import { reportPath, writeReport } from './report-file.js';

/** Commands that make a run folder. */
export type JobName = Extract<CommandName, 'train' | 'ttrl' | 'sft' | 'eval'>;

export interface Job<C extends JobName> extends Resolved<C> {
  store: RunStore;
  /** To the run's files and the screen. */
  emit: Emit;
  interrupt: Interrupt;
}

/** Does the work and returns the summary of the `end` event; `next` (command lines) and `report` (a path) are shown. */
export type JobAction<C extends JobName> = (job: Job<C>) => Promise<Record<string, unknown>>;

/** Resolves, opens the run, works, and sets process.exitCode. Failures before the run exists are thrown. */
export async function runJob<C extends JobName>(command: C, call: Call, action: JobAction<C>): Promise<void> {
  const base = { flags: call.flags, env: process.env };
  const { out, resume, force } = callOptions(command, base);
  const folder = placeRun({ command, out, resume, force });
  const stored = resume ? readStoredConfig(folder) : undefined;
  const resolved = resolveConfig(command, { ...base, stored });
  keepRunningWithoutStdout();
  const config = { values: resolved.values, origins: resolved.origins, transient: transientNames(command) };
  const store = openRun({ folder, command, resume, force, config });
  const again = `vf ${command} --resume --out ${folder}`;
  await session(resolved, {
    run: store.name,
    store,
    notice: 'finishing the step and saving; Ctrl-C again leaves now',
    left: `left at once; the last checkpoint is whole. Continue with: ${again}`,
    work: (emit, interrupt) => action({ ...resolved, store, emit, interrupt }),
    stopped: `npx ${again}`,
  });
}

/** As runJob for work that keeps no run folder (`vf train --probe`): events go to the screen only. */
export async function runWithoutFolder<C extends JobName>(
  command: C,
  call: Call,
  action: (job: Resolved<C> & Pick<Job<C>, 'emit' | 'interrupt'>) => Promise<Record<string, unknown>>,
): Promise<void> {
  const resolved = resolveConfig(command, { flags: call.flags, env: process.env });
  keepRunningWithoutStdout();
  await session(resolved, {
    run: null,
    store: null,
    notice: 'stopping; Ctrl-C again leaves now',
    left: null,
    work: (emit, interrupt) => action({ ...resolved, emit, interrupt }),
    stopped: null,
  });
}

interface Session {
  run: string | null;
  store: RunStore | null;
  notice: string;
  /** Said when a second signal ends the process. */
  left: string | null;
  work: (emit: Emit, interrupt: Interrupt) => Promise<Record<string, unknown>>;
  /** The command line that continues an interrupted run. */
  stopped: string | null;
}

async function session(resolved: Resolved<JobName>, parts: Session): Promise<void> {
  const { json, plain } = resolved.settings;
  const interrupt = listenForInterrupt({
    onFirst: () => emit({ event: 'warning', code: 'VF_STOPPING', message: parts.notice }),
  });
  const terminal = processTerminal();
  const kind = reporterKind({ json, plain }, terminal, process.env);
  const reporter = await openReporter(kind, terminal, () => interrupt.stop('SIGINT'));
  interrupt.onLeave(() => {
    void reporter.close();
    if (parts.left !== null) writeErr(`${parts.left}\n`);
  });
  let started = false;
  const sinks = parts.store === null ? [] : [runLog(parts.store)];
  const begin = (event: RunEvent) => {
    if (event.event === 'start') started = true;
  };
  const emit = emitter(parts.run, [begin, ...sinks, reporter.event]);
  const began = performance.now();
  try {
    const work = await parts.work(emit, interrupt);
    const exitCode = interrupt.exitCode ?? 0;
    emit({ event: 'end', exitCode, summary: { ...common(parts, began, exitCode), ...work } });
    process.exitCode = exitCode;
    // An action that brings a report of its own has written it.
    if (parts.store !== null && !('report' in work)) writeReport(parts.store.folder);
    await reporter.close();
  } catch (error) {
    // Before its start there is no run: nothing of it stays.
    await fail(error, reporter, started ? emit : emitter(null, [reporter.event]), json);
  } finally {
    interrupt.dispose();
    parts.store?.close();
  }
}

function common(parts: Session, began: number, exitCode: number): Record<string, unknown> {
  return {
    seconds: (performance.now() - began) / 1000,
    ...(parts.store === null ? {} : { report: reportPath(parts.store.folder) }),
    ...(exitCode === 0 || parts.stopped === null ? {} : { resume: parts.stopped }),
  };
}

async function fail(error: unknown, reporter: Reporter, emit: Emit, json: boolean): Promise<void> {
  const exitCode = failureExitCode(error);
  process.exitCode = exitCode;
  try {
    emit({ event: 'end', exitCode, summary: {}, error: failureRecord(error) });
  } catch (second) {
    // A full disk can't take the event either; the first failure is the one to show.
    if (!(second instanceof VfError)) throw second;
  }
  await reporter.close();
  if (!json || isDebug()) writeErr(formatFailure(error, isDebug()));
}

function processTerminal(): Terminal {
  return {
    out: writeOut,
    err: writeErr,
    outIsTty: process.stdout.isTTY === true,
    errIsTty: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    columns: process.stdout.columns ?? 80,
  };
}
