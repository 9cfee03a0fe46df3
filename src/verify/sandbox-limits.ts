/** What a program may use: the limits of one sandboxed run, with their defaults. */

import { invalidValue } from '../errors.js';

export interface SandboxLimits {
  /** CPU seconds at which the kernel sends SIGXCPU, and at which it kills (must be larger, to tell the two apart). */
  cpuSoftS: number;
  cpuHardS: number;
  /** Wall milliseconds, a backstop for programs that sleep; reaching it says nothing about the program's answer. */
  wallMs: number;
  /** Address space of each process, bytes. */
  memoryBytes: number;
  /** Largest file, bytes. */
  fileBytes: number;
  openFiles: number;
  /** Processes and threads in one sandbox, its own init included. */
  processes: number;
  /** Size of the scratch directory (memory), bytes. */
  scratchBytes: number;
  /** stdout is cut and the program killed at this many bytes. */
  stdoutBytes: number;
  /** How many last bytes of stderr are kept. */
  stderrBytes: number;
  /** Longer programs are not run. */
  programBytes: number;
}

export const defaultLimits: Readonly<SandboxLimits> = {
  cpuSoftS: 3,
  cpuHardS: 4,
  wallMs: 30_000,
  memoryBytes: 512 * 2 ** 20,
  fileBytes: 2 ** 20,
  openFiles: 32,
  processes: 32,
  scratchBytes: 16 * 2 ** 20,
  stdoutBytes: 64 * 2 ** 10,
  stderrBytes: 8 * 2 ** 10,
  programBytes: 64 * 2 ** 10,
};

/**
 * Defaults with some of them changed.
 * @throws VfError when one is not a positive whole number, or the hard CPU limit is not above the soft one.
 */
export function resolveLimits(changes: Partial<SandboxLimits> = {}): SandboxLimits {
  const limits = { ...defaultLimits, ...changes };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) throw invalidValue(name, 'a positive whole number', value);
  }
  if (limits.cpuHardS <= limits.cpuSoftS) {
    throw invalidValue('cpuHardS', `more than cpuSoftS (${limits.cpuSoftS})`, limits.cpuHardS);
  }
  return limits;
}
