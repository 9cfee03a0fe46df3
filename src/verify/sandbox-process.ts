/** The one place that starts tool processes: input by pipe, capped output, a wall limit, and no process left behind. */

import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export interface ProcessRequest {
  command: string;
  args: readonly string[];
  /** The whole environment: nothing is inherited. */
  env: Record<string, string>;
  cwd: string;
  /** Drop to this user and group (only root can). */
  uid?: number | undefined;
  stdin: Buffer;
  /** Bytes that the process reads from fd 4; fd 3 is its report. */
  fd4?: Buffer | undefined;
  wallMs: number;
  stdoutBytes: number;
  stderrBytes: number;
}

export interface ProcessResult {
  /** exit: by itself. wall, output: killed by us. aborted: closed from outside. failed: it did not start, or would not die. */
  end: 'exit' | 'wall' | 'output' | 'aborted' | 'failed';
  exitCode: number | null;
  signal: string | null;
  /** First `stdoutBytes` bytes. */
  stdout: Buffer;
  stdoutCut: boolean;
  /** Last `stderrBytes` bytes. */
  stderr: Buffer;
  /** What came on fd 3, at most 4 KiB. */
  report: string;
  wallMs: number;
  /** The reason of `failed`. */
  error: string | null;
}

/** stderr is dropped, not kept, but this much of it is a flood all the same. */
const stderrFloodBytes = 2 ** 20;
const reportBytes = 4096;
const stuckAfterKillMs = 5000;

/** Run a process to its end. Never rejects: what went wrong is in the result. */
export function runProcess(request: ProcessRequest, abort?: AbortSignal): Promise<ProcessResult> {
  return new Promise((resolve) => {
    const started = performance.now();
    const stdout = capture(request.stdoutBytes, 'first');
    const stderr = capture(request.stderrBytes, 'last');
    const report = capture(reportBytes, 'first');
    let end: ProcessResult['end'] = 'exit';
    let stuck: NodeJS.Timeout | undefined;
    const child = spawn(request.command, request.args, {
      env: request.env,
      cwd: request.cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      ...(request.uid === undefined ? {} : { uid: request.uid, gid: request.uid }),
    });
    const finish = (exitCode: number | null, signal: string | null, error: string | null): void => {
      clearTimeout(wall);
      clearTimeout(stuck);
      abort?.removeEventListener('abort', onAbort);
      for (const stream of child.stdio) stream?.destroy();
      resolve({
        end: error === null ? end : 'failed',
        exitCode,
        signal,
        stdout: stdout.kept,
        stdoutCut: stdout.total > request.stdoutBytes,
        stderr: stderr.kept,
        report: report.kept.toString('latin1'),
        wallMs: performance.now() - started,
        error,
      });
    };
    const kill = (why: ProcessResult['end']): void => {
      if (end !== 'exit') return;
      end = why;
      killGroup(child.pid);
      stuck = setTimeout(() => finish(null, null, 'the process outlived SIGKILL'), stuckAfterKillMs);
    };
    const onAbort = (): void => kill('aborted');
    const wall = setTimeout(() => kill('wall'), request.wallMs);
    child.once('error', (error) => finish(null, null, error.message));
    child.once('close', (code, signal) => finish(code, signal, null));
    if (abort?.aborted) onAbort();
    else abort?.addEventListener('abort', onAbort);
    const [stdin, out, err, fd3, fd4] = child.stdio as [Writable, Readable, Readable, Readable, Writable];
    read(out, stdout, (total) => total > request.stdoutBytes && kill('output'));
    read(err, stderr, (total) => total > stderrFloodBytes && kill('output'));
    read(fd3, report, () => undefined);
    write(stdin, request.stdin);
    write(fd4, request.fd4 ?? Buffer.alloc(0));
  });
}

interface Capture {
  total: number;
  kept: Buffer;
  add(chunk: Buffer): void;
}

/** Keeps the first or last `limit` bytes of a stream while counting all of them. */
function capture(limit: number, side: 'first' | 'last'): Capture {
  return {
    total: 0,
    kept: Buffer.alloc(0),
    add(chunk) {
      this.total += chunk.length;
      if (side === 'last') this.kept = Buffer.concat([this.kept, chunk]).subarray(-limit);
      else if (this.kept.length < limit) {
        this.kept = Buffer.concat([this.kept, chunk.subarray(0, limit - this.kept.length)]);
      }
    },
  };
}

function read(stream: Readable, into: Capture, check: (total: number) => unknown): void {
  stream.on('data', (chunk: Buffer) => {
    into.add(chunk);
    check(into.total);
  });
  // A reset pipe is how a killed process ends; the exit code tells the story.
  stream.on('error', () => undefined);
}

function write(stream: Writable, bytes: Buffer): void {
  // EPIPE: the process ended before it read its input; the exit code tells the story.
  stream.on('error', () => undefined);
  stream.end(bytes);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
