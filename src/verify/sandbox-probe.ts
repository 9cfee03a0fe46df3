/** The start-up probe: a known program and escape attempts, run inside the sandbox that will be used. */

import type { SandboxLimits } from './sandbox-limits.js';
import type { ProcessResult } from './sandbox-process.js';
import { readRun } from './sandbox-run.js';

/** One promise of the sandbox, as measured. */
export interface Enforcement {
  name: string;
  ok: boolean;
  /** What was seen. */
  detail: string;
}

/** Libraries that a verifier may want; what can be imported goes into its prompt. */
export const probedLibraries = ['math', 'fractions', 'sympy', 'numpy'] as const;

/** No probe forks more children than this. */
const mostForks = 60;

/**
 * The escape program. Prints a line a check: name, 1 or 0, detail, with tabs between. Each attempt is harmless where
 * the sandbox fails to stop it: it opens files only to close them again, and its few children wait on a pipe and go.
 */
export function escapeProgram(limits: SandboxLimits): string {
  const forks = Math.min(limits.processes + 4, mostForks);
  const allowed = [
    'PATH',
    'PWD',
    'HOME',
    'LANG',
    'LC_CTYPE',
    'PYTHONHASHSEED',
    'OMP_NUM_THREADS',
    'OPENBLAS_NUM_THREADS',
  ];
  return `
import os, resource
def say(name, ok, detail):
    print(name, int(bool(ok)), str(detail).replace('\\n', ' '), sep='\\t')
def refused(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return None
say('unprivileged user', os.getuid() == 65534 == os.geteuid(), 'uid %d' % os.getuid())
seen = [p for p in ('/etc/passwd', '/etc/hostname', '/root', '/home', '/sys', '/var', '/run', '/proc/self', '/dev/shm') if os.path.exists(p)]
say('host files hidden', not seen, ' '.join(seen) or 'none of 9 paths exists')
extra = sorted(set(os.environ) - set(${JSON.stringify(allowed)}))
say('environment clean', not extra, '%d variables, none of the host' % len(os.environ) if not extra else ' '.join(extra))
say('processes hidden', os.getpid() < 8, 'pid %d' % os.getpid())
open_paths = [p for p in ('/usr/vf-probe', '/vf-probe', '/dev/vf-probe', '/etc/vf-probe') if refused(lambda: open(p, 'x').close()) is None]
say('read-only outside /tmp', not open_paths, ' '.join(open_paths) or '4 places refused')
space = os.statvfs('/tmp')
size = space.f_blocks * space.f_frsize
say('scratch limit', size <= ${limits.scratchBytes} and refused(lambda: open('/tmp/x', 'x').close()) is None, '%d bytes' % size)
import socket
why = refused(lambda: socket.socket().close())
say('network', why, 'socket() ' + (why or 'was allowed'))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
new_privs = libc.prctl(39, 0, 0, 0, 0)
say('system-call filter', libc.prctl(21) == 2 and new_privs == 1, 'seccomp mode %d, no_new_privs %d' % (libc.prctl(21), new_privs))
say('no new namespaces', libc.unshare(0x10000000) == -1, 'unshare() errno %d' % ctypes.get_errno())
say('no capabilities', not any(libc.prctl(23, cap) for cap in range(38)), 'bounding set')
for name, key, value in (
        ('CPU limit', 'CPU', (${limits.cpuSoftS}, ${limits.cpuHardS})), ('memory limit', 'AS', (${limits.memoryBytes},) * 2),
        ('file size limit', 'FSIZE', (${limits.fileBytes},) * 2), ('open files limit', 'NOFILE', (${limits.openFiles},) * 2)):
    have = resource.getrlimit(getattr(resource, 'RLIMIT_' + key))
    say(name, have == value, '%d to %d' % have)
inside, outside = os.pipe()
children = []
try:
    while len(children) < ${forks}:
        pid = os.fork()
        if pid == 0:
            os.close(outside)
            os.read(inside, 1)
            os._exit(0)
        children.append(pid)
except OSError:
    pass
os.close(outside)
for pid in children:
    os.waitpid(pid, 0)
have = resource.getrlimit(resource.RLIMIT_NPROC)[0]
bounded = len(children) < ${forks} or ${forks} <= ${limits.processes}
say('process limit', have == ${limits.processes} and bounded and children, '%d children of %d allowed, limit %d' % (len(children), ${forks}, have))
`;
}

/** What `escapeProgram` printed, as data; lines of another form are left out. */
export function readEnforcement(stdout: string): Enforcement[] {
  return stdout.split('\n').flatMap((line) => {
    const [name, ok, detail] = line.split('\t');
    return name === undefined || ok === undefined || detail === undefined
      ? []
      : [{ name, ok: ok === '1', detail }];
  });
}

/** How many checks `escapeProgram` prints when nothing stops it. */
export const enforcementCount = 15;

/** Which libraries a program can import: each is loaded, because one that is found may still fail to load. */
export async function probeLibraries(
  run: (program: string) => Promise<ProcessResult>,
  limits: SandboxLimits,
): Promise<{ name: string; available: boolean }[]> {
  const program = `
for name in ${JSON.stringify(probedLibraries)}:
    try:
        __import__(name)
        print(name, flush=True)
    except (ImportError, MemoryError, OSError):
        pass
`;
  const { stdout } = readRun(await run(program), limits);
  const loaded = new Set(stdout.split('\n'));
  return probedLibraries.map((name) => ({ name, available: loaded.has(name) }));
}
