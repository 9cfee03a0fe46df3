/** A failure as a user reads it: what, where, what was expected, and one thing to do next. */

import { ConfigError } from '../config/problems.js';
import { VfError } from '../errors.js';
import type { EndEvent } from '../run/events.js';
import { visible } from '../ui/text.js';

const SHOWN_LINE = 100;

/** Lines for stderr, ending in a newline. With `debug`, the stack follows. */
export function formatFailure(error: unknown, debug: boolean): string {
  if (error instanceof ConfigError) return error.problems.map((one) => formatFailure(one, debug)).join('\n');
  const { message, hint, expected, file, line, column, text } = facts(error);
  let out = `error: ${visible(message)}\n`;
  if (file !== undefined) {
    const place = [file, line, column].filter((part) => part !== undefined).join(':');
    out += `  --> ${place}${text === undefined ? '' : `   ${cut(visible(text.trim()))}`}\n`;
  }
  if (expected !== undefined) out += `  expected ${expected}\n`;
  if (hint !== undefined) out += `help: ${hint}\n`;
  if (debug && error instanceof Error) {
    out += `${error.stack}\n`;
    if (error.cause instanceof Error) out += `caused by ${error.cause.stack}\n`;
  }
  return out;
}

export type FailureRecord = NonNullable<EndEvent['error']> & { problems?: FailureRecord[] };

/** The failure as JSON. */
export function failureRecord(error: unknown): FailureRecord {
  const { code, message, hint, file, line } = facts(error);
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(error instanceof ConfigError ? { problems: error.problems.map(failureRecord) } : {}),
  };
}

/** The exit code that a failure stands for. */
export function failureExitCode(error: unknown): number {
  return error instanceof VfError ? error.exitCode : 1;
}

/** VF_DEBUG=1. */
export function isDebug(): boolean {
  return /^(1|true)$/.test(process.env.VF_DEBUG ?? '');
}

interface Facts {
  code: string;
  message: string;
  hint?: string | undefined;
  expected?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  text?: string | undefined;
}

function facts(error: unknown): Facts {
  if (error instanceof VfError) {
    const { code, message, hint, expected, place } = error;
    return { code, message, hint, expected, ...place };
  }
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  // The addon's errors carry codes of ours without being a VfError.
  if (code?.startsWith('VF_')) return { code, message: message ?? code };
  const text = message === undefined || message === '' ? 'no message' : message;
  const hint = 'this is a fault of vf: VF_DEBUG=1 shows where';
  return { code: code ?? 'VF_INTERNAL', message: text, hint };
}

function cut(text: string): string {
  return text.length <= SHOWN_LINE ? text : `${text.slice(0, SHOWN_LINE - 1)}…`;
}
