/** Every failure that a user can cause, as one error type with a code, a hint and an exit code (DESIGN §8). */

/** 1: failed while running. 2: bad flags, configuration, data or model files. 3: the environment lacks something. */
export type ExitCode = 1 | 2 | 3 | 130 | 143;

export interface ErrorPlace {
  file?: string | undefined;
  /** 1-based. */
  line?: number | undefined;
  /** 1-based. */
  column?: number | undefined;
  /** The line's own text, shown beside the arrow. */
  text?: string | undefined;
}

export interface VfErrorOptions extends ErrorPlace {
  /** One thing to do next; printed after `help:`. */
  hint?: string | undefined;
  exitCode?: ExitCode | undefined;
  /** What was expected, when the message does not already say it. */
  expected?: string | undefined;
  cause?: unknown;
}

export class VfError extends Error {
  override readonly name = 'VfError';
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  readonly expected: string | undefined;
  readonly place: ErrorPlace;

  /** @param code `VF_…`, stable for programs. @param message what was expected and what came, in one sentence. */
  constructor(code: string, message: string, options: VfErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 2;
    this.expected = options.expected;
    this.place = { file: options.file, line: options.line, column: options.column, text: options.text };
  }
}

/** `Expected <what> for <name> but received <value>`: the one form for a bad argument (exit code 2). */
export function invalidValue(
  name: string,
  expected: string,
  actual: unknown,
  options: VfErrorOptions = {},
): VfError {
  const shown = typeof actual === 'string' ? JSON.stringify(actual) : String(actual);
  return new VfError('VF_INVALID_VALUE', `Expected ${expected} for ${name} but received ${shown}`, options);
}

/** The name among `known` that is nearest to `name`, or undefined when none is near (edit distance above a third). */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
