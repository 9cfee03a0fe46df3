/** The bubblewrap command line: what a sandboxed program can see, and what it may use. */

import { lstatSync, readlinkSync } from 'node:fs';
import { bootScript } from './sandbox-boot.js';
import type { SandboxLimits } from './sandbox-limits.js';

/** The user inside; also outside, when the caller is root, because no limit on processes holds for root. */
export const nobody = 65534;

/** Sets resource limits, then becomes the program (util-linux). */
export const prlimit = '/usr/bin/prlimit';
const choom = '/usr/bin/choom';

export interface BwrapCommand {
  command: string;
  args: string[];
}

/** Programs that the sandbox starts with, beside bwrap itself; each must exist. */
export function neededPrograms(python: string): string[] {
  return [prlimit, python];
}

/**
 * bwrap → prlimit → python, in that order: the limit on processes counts inside the sandbox's own user namespace, so
 * that the caller's other processes neither use it up nor stop bwrap from starting. Fd 4 carries the seccomp filter.
 */
export function bwrapCommand(options: {
  bwrap: string;
  python: string;
  limits: SandboxLimits;
  /** bwrap can forbid further user namespaces itself (0.8 and later). */
  disableUserns: boolean;
}): BwrapCommand {
  const { bwrap, python, limits } = options;
  const args = [
    ...['--unshare-all', '--unshare-user', ...(options.disableUserns ? ['--disable-userns'] : [])],
    ...['--uid', String(nobody), '--gid', String(nobody), '--hostname', 'sandbox'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--seccomp', '4'],
    ...['--ro-bind', '/usr', '/usr', ...usrLinks()],
    // numpy's libblas is a link into /etc/alternatives.
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
    ...['--dev-bind', '/dev/null', '/dev/null', '--dev-bind', '/dev/urandom', '/dev/urandom'],
    ...['--size', String(limits.scratchBytes), '--tmpfs', '/tmp'],
    // bwrap's own root is a writable tmpfs without a size until this.
    ...['--remount-ro', '/', '--chdir', '/tmp', '--clearenv'],
    ...Object.entries(programEnvironment('/tmp')).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--', prlimit, ...limitFlags(limits), `--nproc=${limits.processes}`, '--', ...pythonCommand(python)],
  ];
  return { command: bwrap, args };
}

/** A command that the kernel kills before any other when memory runs out: the memory limit holds for each process, not for all. */
export function killFirst(command: readonly string[]): BwrapCommand {
  return { command: choom, args: ['-n', '1000', '--', ...command] };
}

/** prlimit's flags for what holds in every sandbox that prlimit can start (not the number of processes). */
export function limitFlags(limits: SandboxLimits): string[] {
  return [
    `--cpu=${limits.cpuSoftS}:${limits.cpuHardS}`,
    `--as=${limits.memoryBytes}`,
    `--fsize=${limits.fileBytes}`,
    `--nofile=${limits.openFiles}`,
    '--core=0',
    '--msgqueue=0',
  ];
}

/**
 * Everything that the program finds in its environment. Hash order is fixed, so that a program that prints a set prints
 * the same one again; that is why Python runs with `-s -B` and this environment rather than with `-I`, which drops it.
 */
export function programEnvironment(home: string): Record<string, string> {
  return {
    PATH: '/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    PYTHONHASHSEED: '0',
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
  };
}

/** python with the boot script; `-B` writes no cache files, `-s` reads no user packages. */
export function pythonCommand(python: string): string[] {
  return [python, '-s', '-B', '-c', bootScript];
}

/** /bin, /lib and so on, as the host has them: links into /usr where they are links, read-only mounts otherwise. */
function usrLinks(): string[] {
  return ['/bin', '/lib', '/lib64', '/sbin'].flatMap((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
}
