/** `--sandbox deno`: Pyodide inside Deno, whose permissions are the wall. For machines that refuse user namespaces. */

import { accessSync, chmodSync, constants, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { VfError } from '../errors.js';
import type { Backend, SandboxOptions } from './sandbox-backend.js';
import { literalCheck } from './sandbox-boot.js';
import { prlimit } from './sandbox-bwrap.js';
import type { SandboxLimits } from './sandbox-limits.js';
import { probeLibraries, readEnforcement } from './sandbox-probe.js';
import { type ProcessResult, runProcess } from './sandbox-process.js';
import { readRun } from './sandbox-run.js';

/** Loading Pyodide takes about 5 CPU seconds before the program begins. */
const loadCpuS = 12;
const loadWallMs = 60_000;

/** @throws VfError (exit code 3) when deno or pyodide is not installed, or an escape was not stopped. */
export async function openDeno(options: SandboxOptions, limits: SandboxLimits): Promise<Backend> {
  const { deno, pyodide } = findDeno(options.denoFolder);
  const limited = existsSync(prlimit);
  const cpu = `--cpu=${limits.cpuSoftS + loadCpuS}:${limits.cpuHardS + loadCpuS}`;
  const [command = deno, ...args] = [
    ...(limited ? [prlimit, cpu, '--core=0', '--'] : []),
    ...[deno, 'run', '--quiet', '--no-prompt', '--no-config', '--no-lock', '--no-remote', '--no-npm'],
    ...[
      `--allow-read=${pyodide}`,
      `data:application/javascript;base64,${Buffer.from(driver(pyodide)).toString('base64')}`,
    ],
  ];
  // Deno wants a home and a cache folder; neither exists, and it may write nowhere.
  const env = { HOME: '/nonexistent', DENO_DIR: '/nonexistent', NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
  const { stdoutBytes, stderrBytes } = limits;
  const start = async (stdin: Buffer, abort?: AbortSignal): Promise<ProcessResult> => {
    const wallMs = limits.wallMs + loadWallMs;
    return moveReport(
      await runProcess({ command, args, env, cwd: '/', stdin, wallMs, stdoutBytes, stderrBytes }, abort),
    );
  };
  const run = (program: string): Promise<ProcessResult> => start(Buffer.from(program));
  const probe = readRun(await run(escapeAttempts), limits);
  const enforced = readEnforcement(probe.stdout);
  const open = enforced.filter((check) => !check.ok);
  if (probe.outcome !== 'ok' || enforced.length !== attemptCount || open.length > 0) {
    const what =
      open.map((check) => `${check.name} (${check.detail})`).join(', ') ||
      `${probe.outcome}: ${probe.detail}`;
    throw new VfError('VF_SANDBOX_OPEN', `Expected deno to stop every escape but: ${what}`, {
      exitCode: 3,
      hint: '--sandbox bwrap where bubblewrap works, or --tool smt, which runs no programs',
    });
  }
  return {
    interpreter: `${/^Python .*$/m.exec(probe.stdout)?.[0] ?? 'Python'} (Pyodide)`,
    enforced: [
      ...enforced,
      {
        name: 'CPU limit',
        ok: limited,
        detail: limited ? `${cpu.slice(6)} with loading` : 'prlimit is missing',
      },
      {
        name: 'unprivileged user',
        ok: process.getuid?.() !== 0,
        detail: 'your own user, behind deno’s permissions',
      },
      { name: 'memory limit', ok: false, detail: 'WebAssembly grows to 4 GB' },
    ],
    libraries: await probeLibraries(run, limits),
    start,
    dispose: async () => undefined,
  };
}

function findDeno(folder: string | undefined): { deno: string; pyodide: string } {
  const named = folder ?? process.env.VF_DENO_DIR;
  const start = named === undefined ? dirname(fileURLToPath(import.meta.url)) : resolve(named);
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'win32' }[process.platform as string];
  const binary = join('@deno', `${platform}-${process.arch}${platform === 'linux' ? '-glibc' : ''}`, 'deno');
  for (let at = start; ; at = dirname(at)) {
    const modules = join(at, 'node_modules');
    const deno = join(modules, binary);
    const pyodide = join(modules, 'pyodide');
    if (existsSync(deno) && existsSync(join(pyodide, 'pyodide.mjs')))
      return { deno: executable(deno), pyodide };
    if (at === dirname(at) || named !== undefined) break;
  }
  throw new VfError(
    'VF_SANDBOX_MISSING',
    `Expected the npm packages deno and pyodide in ${named ?? 'this project'} but they are not there`,
    {
      exitCode: 3,
      hint: [
        'one of these:',
        '1. npm install deno pyodide, or set VF_DENO_DIR to the folder where they are installed',
        '2. --sandbox bwrap, after apt-get install -y bubblewrap python3 python3-sympy',
        '3. --tool smt, which runs no programs',
      ].join('\n'),
    },
  );
}

/** The package's install script marks its binary executable; with install scripts off that is left to do. */
function executable(path: string): string {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
  return path;
}

/** The boot report comes first on stdout here, closed by an empty line, because Deno can't write to fd 3. */
function moveReport(result: ProcessResult): ProcessResult {
  const end = result.stdout.indexOf('\n\n');
  if (end < 0) return { ...result, report: result.stdout.toString('latin1'), stdout: Buffer.alloc(0) };
  return {
    ...result,
    report: result.stdout.subarray(0, end + 1).toString('latin1'),
    stdout: result.stdout.subarray(end + 2),
  };
}

/** The module that Deno runs: loads Pyodide, reports, then runs the program from stdin. */
function driver(pyodide: string): string {
  const boot = `
def boot(source, check):
    import sys, traceback
    try:
        code = compile(source, 'program.py', 'exec')
    except BaseException:
        traceback.print_exc()
        return 'syntax', None
    try:
        scope = {}
        exec(check, scope)
        return ('literal 1' if scope['only_literals'](compile(source, 'program.py', 'exec', 0x400)) else 'literal 0'), code
    except BaseException:
        return 'literal ?', code
def become(code):
    import sys, traceback
    sys.argv = ['program.py']
    status = 0
    try:
        exec(code, {'__name__': '__main__', '__builtins__': __builtins__})
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status
`;
  return `
const { loadPyodide } = await import(${JSON.stringify(`${pathToFileURL(pyodide).href}/pyodide.mjs`)});
const source = new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
const python = await loadPyodide({ indexURL: ${JSON.stringify(`${pyodide}/`)}, jsglobals: {} });
const all = (to, bytes) => { for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at)); };
python.setStdout({ write: (bytes) => (all(Deno.stdout, bytes), bytes.length) });
python.setStderr({ write: (bytes) => (all(Deno.stderr, bytes), bytes.length) });
python.setStdin({ stdin: () => null });
const scope = python.toPy({});
python.runPython(${JSON.stringify(boot)}, { globals: scope });
const [kind, code] = scope.get('boot')(python.toPy(source), ${JSON.stringify(literalCheck)});
all(Deno.stdout, new TextEncoder().encode('start\\n' + kind + '\\n\\n'));
Deno.exit(kind === 'syntax' ? 1 : scope.get('become')(code));
`;
}

/** Escapes by every door of Pyodide that was found open elsewhere; Deno must refuse each. */
const escapeAttempts = `
import sys
import pyodide_js
print('Python ' + sys.version.split()[0])
make = pyodide_js.constructor.constructor
def say(name, action):
    try:
        result = action()
        print(name, 0, 'allowed', sep='\\t')
    except BaseException as error:
        print(name, 1, type(error).__name__ + ' ' + str(error).split('\\n')[0].replace('\\t', ' ')[:80], sep='\\t')
say('host files hidden', make("return Deno.readTextFileSync('/etc/passwd')"))
say('host folders not mounted', lambda: (pyodide_js.mountNodeFS('/mnt', '/etc'), open('/mnt/passwd').read()))
say('no writing', make("return Deno.writeTextFileSync('/tmp/vf-probe', '')"))
say('environment hidden', make("return Deno.env.toObject()"))
say('no processes', make("return new Deno.Command('/bin/true').outputSync()"))
say('system hidden', make("return Deno.hostname()"))
say('network', make("const s = Deno.listen({ port: 0 }); s.close()"))
say('no native code', make("return Deno.dlopen('/usr/lib/libc.so.6', {})"))
`;
const attemptCount = 8;
