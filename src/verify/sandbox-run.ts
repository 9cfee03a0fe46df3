/** What became of one program, as data: an outcome with its reason, and the line it printed last. */

import type { SandboxLimits } from './sandbox-limits.js';
import type { ProcessResult } from './sandbox-process.js';

/** Every way a program can end. Only `ok` has an answer; `sandbox error` is never the program's fault. */
export type ProgramOutcome =
  | 'ok'
  | 'syntax error'
  | 'missing import'
  | 'runtime error'
  | 'timeout'
  | 'wall backstop'
  | 'memory'
  | 'process limit'
  | 'output limit'
  | 'program too large'
  | 'no output'
  | 'sandbox error';

export interface ProgramRun {
  outcome: ProgramOutcome;
  /** Last non-empty line of stdout, trimmed; null when there is none. */
  line: string | null;
  /** stdout as text, cut at a character border; bytes that are not UTF-8, and NUL, stand as U+FFFD. */
  stdout: string;
  /** stdout was longer than the limit. */
  cut: boolean;
  /** stdout held bytes that are no text. */
  replaced: boolean;
  /** What went wrong, in one line; empty when nothing did. */
  detail: string;
  /** Everything printed comes from literals; null when that could not be decided. */
  literal: boolean | null;
  wallMs: number;
}

const signalExit = 128;
const SIGKILL = 9;
const SIGXCPU = 24;
const detailLength = 300;

/** Read a finished process, or why there is none. */
export function readRun(result: ProcessResult | 'too large' | 'closed', limits?: SandboxLimits): ProgramRun {
  const none = { line: null, stdout: '', cut: false, replaced: false, literal: null, wallMs: 0 };
  if (result === 'too large')
    return { ...none, outcome: 'program too large', detail: 'the program was not run' };
  if (result === 'closed') return { ...none, outcome: 'sandbox error', detail: 'the sandbox is closed' };
  const { text, replaced } = decodeOutput(result.stdout, result.stdoutCut);
  const stderr = decodeOutput(result.stderr, false).text;
  const line = lastLine(text);
  return {
    ...classify(result, line, stderr, limits),
    line,
    stdout: text,
    cut: result.stdoutCut,
    replaced,
    literal: result.report.includes('literal 1') ? true : result.report.includes('literal 0') ? false : null,
    wallMs: result.wallMs,
  };
}

/** Bytes as text: an incomplete character at a cut is dropped; other bytes that are not UTF-8, and NUL, are replaced. */
export function decodeOutput(bytes: Buffer, cut: boolean): { text: string; replaced: boolean } {
  const whole = cut ? bytes.subarray(0, characterBorder(bytes)) : bytes;
  const decoded = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole);
  const text = decoded.replaceAll('\0', '\uFFFD');
  // A program may print U+FFFD itself, so bytes are compared, not characters.
  return { text, replaced: text !== decoded || !Buffer.from(decoded).equals(whole) };
}

/** Last non-empty line, trimmed; null when all lines are empty. */
export function lastLine(text: string): string | null {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  return lines.findLast((line) => line !== '') ?? null;
}

function classify(
  result: ProcessResult,
  line: string | null,
  stderr: string,
  limits: SandboxLimits | undefined,
): { outcome: ProgramOutcome; detail: string } {
  if (result.end === 'failed' || result.end === 'aborted') {
    return { outcome: 'sandbox error', detail: result.error ?? 'the sandbox was closed while it ran' };
  }
  if (result.end === 'wall')
    return { outcome: 'wall backstop', detail: `killed after ${Math.round(result.wallMs)} ms` };
  if (!result.report.startsWith('start')) {
    return { outcome: 'sandbox error', detail: short(lastLine(stderr) ?? `exit code ${result.exitCode}`) };
  }
  if (result.end === 'output') return { outcome: 'output limit', detail: 'killed for printing too much' };
  if (result.exitCode === 0) {
    return line === null
      ? { outcome: 'no output', detail: 'nothing on stdout' }
      : { outcome: 'ok', detail: '' };
  }
  const error = exceptionLine(stderr);
  if (result.report.includes('syntax')) return { outcome: 'syntax error', detail: short(error ?? '') };
  return fromSignal(result, limits) ?? fromException(error, stderr, result.exitCode);
}

function fromSignal(
  result: ProcessResult,
  limits: SandboxLimits | undefined,
): { outcome: ProgramOutcome; detail: string } | null {
  const hit = (number: number, name: string): boolean =>
    result.exitCode === signalExit + number || result.signal === name;
  if (hit(SIGXCPU, 'SIGXCPU')) return { outcome: 'timeout', detail: 'CPU limit' };
  if (!hit(SIGKILL, 'SIGKILL')) return null;
  // A program that ignores SIGXCPU is killed at the hard limit, which no wall clock can reach sooner.
  const ranOut = limits !== undefined && result.wallMs >= limits.cpuHardS * 1000;
  return ranOut
    ? { outcome: 'timeout', detail: 'hard CPU limit' }
    : {
        outcome: 'runtime error',
        detail: 'killed by signal 9: by itself, or by the kernel for want of memory',
      };
}

function fromException(
  error: string | null,
  stderr: string,
  exitCode: number | null,
): { outcome: ProgramOutcome; detail: string } {
  const detail = short(error ?? lastLine(stderr) ?? `exit code ${exitCode}`);
  const name = /^[\w.]+/.exec(error ?? '')?.[0] ?? '';
  if (name === 'ModuleNotFoundError') return { outcome: 'missing import', detail };
  if (name === 'ImportError' && !detail.includes('cannot import name'))
    return { outcome: 'missing import', detail };
  if (name.endsWith('MemoryError') || /out of memory|cannot allocate memory/i.test(stderr)) {
    return { outcome: 'memory', detail };
  }
  if (name === 'BlockingIOError' || /can't start new thread|Resource temporarily unavailable/.test(detail)) {
    return { outcome: 'process limit', detail };
  }
  return { outcome: 'runtime error', detail };
}

/** The line of the last traceback that names the exception. */
function exceptionLine(stderr: string): string | null {
  const lines = stderr.split('\n');
  const traceback = lines.findLastIndex((line) => line.startsWith('Traceback (most recent call last)'));
  const after = lines.slice(traceback + 1);
  const named = after.find((line) => /^[A-Za-z_][\w.]*(:|$)/.test(line));
  return named ?? null;
}

/** Where to cut so that no character is split: before the last lead byte whose character is incomplete. */
function characterBorder(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function short(text: string): string {
  return text.length > detailLength ? text.slice(0, detailLength) : text;
}
