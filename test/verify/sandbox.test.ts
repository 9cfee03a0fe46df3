/** Every attack on the sandbox, as real processes: bounded, as nobody, with nothing left running. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pythonTool } from '../../src/verify/python.js';
import {
  availableLibraries,
  openSandbox,
  type ProgramRun,
  type Sandbox,
  sandboxLine,
} from '../../src/verify/sandbox.js';
import { openRunCache } from '../../src/verify/verdicts.js';
import { scratch } from '../scratch.js';
import { plainKey, sandboxSkip } from './needs-sandbox.js';

/** A scratch size that no other run has marks this test's sandboxes on the host's process list. */
const marker = 16 * 2 ** 20 - 4096 * (1 + (process.pid % 2000));
const limits = { cpuSoftS: 1, cpuHardS: 2, wallMs: 20_000, scratchBytes: marker };

/** Sandboxes of this test that still run; a namespace dies with its bwrap, so that these stand for all in it. */
function survivors(size = marker): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`--size\0${size}\0`)
      );
    } catch {
      return false;
    }
  }).length;
}

async function noSurvivors(size = marker): Promise<number> {
  for (let i = 0; i < 50 && survivors(size) > 0; i++) await sleep(20);
  return survivors(size);
}

describe('bubblewrap', { skip: sandboxSkip }, () => {
  let sandbox: Sandbox;
  const folder = scratch('host');
  const secret = join(folder, 'secret.txt');

  before(async () => {
    process.env.VF_TEST_SECRET = 'host-secret';
    writeFileSync(secret, 'host-secret');
    chmodSync(folder, 0o777);
    chmodSync(secret, 0o666);
    sandbox = await openSandbox({ kind: 'bwrap', limits });
  });

  after(async () => {
    delete process.env.VF_TEST_SECRET;
    await sandbox.close();
    assert.equal(await noSurvivors(), 0);
  });

  const ended = async (program: string, outcome: string, detail = /(?:)/): Promise<ProgramRun> => {
    const run = await sandbox.run(program);
    assert.equal(run.outcome, outcome, `${run.detail}\n${run.stdout}`);
    assert.match(run.detail, detail);
    return run;
  };

  test('the probe finds every promise kept, and says so', () => {
    assert.deepEqual(
      sandbox.report.enforced.filter((check) => !check.ok && !check.name.startsWith('first')),
      [],
    );
    assert.ok(sandbox.report.enforced.length >= 15);
    assert.match(sandboxLine(sandbox.report), /sandbox bwrap, Python 3\.\d+.*enforced: unprivileged user/);
  });

  const attacks: [name: string, outcome: string, detail: RegExp, program: string][] = [
    ['an endless loop', 'timeout', /CPU/, 'while True: pass'],
    [
      'a swallowed exception',
      'timeout',
      /CPU/,
      'while True:\n try:\n  while True: pass\n except BaseException: pass',
    ],
    ['a loop inside C', 'timeout', /CPU/, 'print(sum(range(10**12)))'],
    [
      'ignoring every signal',
      'timeout',
      /hard CPU limit/,
      'import signal\nfor s in (1,2,15,24): signal.signal(s, signal.SIG_IGN)\nwhile True: pass',
    ],
    ['unbounded recursion', 'runtime error', /RecursionError/, 'def f(): f()\nf()'],
    ['a memory bomb (X04)', 'memory', /MemoryError/, 'x=[0]*10**10'],
    [
      'memory piece by piece',
      'memory',
      /Cannot allocate memory/,
      'import mmap\nx=[]\nwhile True: x.append(mmap.mmap(-1, 10**7))',
    ],
    [
      '60 forks at most (X03)',
      'process limit',
      /BlockingIOError/,
      'import os, time\nfor _ in range(60):\n if os.fork() == 0:\n  time.sleep(60)\n  os._exit(0)',
    ],
    [
      '60 threads',
      'process limit',
      /can't start new thread/,
      'import threading, time\nthreading.stack_size(65536)\nfor _ in range(60): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()',
    ],
    [
      'a huge file (X09)',
      'runtime error',
      /File too large/,
      'f=open("/tmp/big","wb")\nfor _ in range(10**4): f.write(b"0"*2**20); f.flush()',
    ],
    [
      'many files',
      'runtime error',
      /No space left/,
      'for i in range(100): open(f"/tmp/{i}","wb").write(b"0"*2**20)',
    ],
    ['many open files', 'runtime error', /Too many open files/, 'f=[open("/dev/null") for _ in range(60)]'],
    ['writing to /usr', 'runtime error', /Read-only|Permission/, 'open("/usr/lib/python3/x.py","w")'],
    [
      'ptrace',
      'ok',
      /(?:)/,
      'import ctypes, errno\nl=ctypes.CDLL(None, use_errno=True)\nprint(l.ptrace(16, 1, 0, 0), ctypes.get_errno())\nassert ctypes.get_errno() == errno.EPERM',
    ],
    [
      'a new user namespace by clone',
      'ok',
      /(?:)/,
      'import ctypes\nl=ctypes.CDLL(None, use_errno=True)\nassert l.syscall(56 if __import__("platform").machine()=="x86_64" else 220, 0x10000011, 0, 0, 0, 0) == -1\nprint(ctypes.get_errno())',
    ],
    [
      'shared memory outside the limit',
      'ok',
      /(?:)/,
      'import ctypes\nassert ctypes.CDLL(None).shmget(0, 4096, 0o1600) == -1\nprint(1)',
    ],
    [
      'raising its own limits',
      'runtime error',
      /ValueError|PermissionError/,
      'import resource\nresource.setrlimit(resource.RLIMIT_CPU, (60, 60))',
    ],
    ['exit without flushing', 'no output', /nothing on stdout/, 'import os\nprint(41)\nos._exit(0)'],
    [
      'killing itself',
      'runtime error',
      /signal 9/,
      'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
    ],
    [
      'a deep nest',
      'syntax error',
      /too many nested|Error/,
      `print(${'('.repeat(5000)}1${')'.repeat(5000)})`,
    ],
    ['bytes that are no source', 'syntax error', /Error/, 'print(1)\0'],
    ['waiting for input', 'runtime error', /EOFError/, 'print(input())'],
  ];
  for (const [name, outcome, detail, program] of attacks) {
    test(`${name} ends as ${outcome}`, async () => {
      await ended(program, outcome, detail);
    });
  }

  test('a program that sleeps meets the wall limit only', async () => {
    const quick = await openSandbox({ kind: 'bwrap', limits: { ...limits, wallMs: 3000 } });
    const run = await quick.run('import time\nprint(7, flush=True)\ntime.sleep(60)');
    await quick.close();
    assert.deepEqual([run.outcome, run.line], ['wall backstop', '7']);
    assert.ok(run.wallMs < 8000);
  });

  test('a child that holds the pipe ends with its program (X01)', async () => {
    const run = await ended('import subprocess\nsubprocess.Popen(["/bin/sleep", "300"])\nprint(1)', 'ok');
    assert.equal(run.line, '1');
    assert.ok(run.wallMs < 10_000);
    assert.equal(await noSurvivors(), 0);
  });

  test('a daemon in a session of its own does not survive (X02)', async () => {
    await ended(
      'import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(300)\n os._exit(0)\nprint(1)',
      'ok',
    );
    assert.equal(await noSurvivors(), 0);
  });

  test('kill 1 and kill -1 hit nothing outside', async () => {
    const run = await ended(
      'import os, signal\nsignal.signal(15, signal.SIG_IGN)\nfor p in (1, -1):\n try: os.kill(p, 15)\n except OSError: pass\nprint(5)',
      'ok',
    );
    assert.equal(run.line, '5');
  });

  test('an output flood is cut in the reader and the program stopped (X05, X06)', async () => {
    const flood = await ended('while True: print("1234567890")', 'output limit');
    assert.equal(flood.cut, true);
    assert.equal(flood.stdout.length, 65_536);
    assert.ok(flood.stdout.startsWith('1234567890\n'));
    const euros = await ended('print("€" * 70000)', 'output limit');
    assert.equal(euros.stdout, '€'.repeat(21_845));
    assert.equal(euros.replaced, false);
    await ended('import sys\nwhile True: sys.stderr.write("x" * 10000)', 'output limit');
  });

  test('output that is not text is replaced and flagged (X11)', async () => {
    const run = await ended('import sys\nsys.stdout.buffer.write(bytes([255,0,254]))', 'ok');
    assert.deepEqual([run.line, run.replaced], ['\uFFFD\uFFFD\uFFFD', true]);
    assert.doesNotMatch(JSON.stringify(run), /\\u0000/);
  });

  test('no way to the network, the loopback included (X07)', async () => {
    let connections = 0;
    const server = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const run = await ended(
      `import os, ctypes, importlib
os.system('exec 2>/tmp/log; (: < /dev/tcp/127.0.0.1/${port}) || bash -c ": < /dev/tcp/127.0.0.1/${port}"')
fd = ctypes.CDLL(None, use_errno=True).socket(2, 1, 0)
import socket
importlib.reload(socket)
try:
    socket.create_connection(('127.0.0.1', ${port}))
except OSError as error:
    print(fd, type(error).__name__)`,
      'ok',
    );
    assert.equal(run.line, '-1 PermissionError');
    server.close();
    assert.equal(connections, 0);
  });

  test('files and environment of the host are out of sight (X08)', async () => {
    const run = await ended(
      `import os, shutil
for path in (${JSON.stringify(folder)}, '/home', '/root', '/usr/games', '/etc'):
    shutil.rmtree(path, ignore_errors=True)
seen = [p for p in (${JSON.stringify(secret)}, '/etc/passwd', '/etc/shadow', '/proc/1/environ', '/proc/self/environ', '/root', '/home', '/sys', '/var', '/run') if os.path.exists(p)]
print(seen, 'VF_TEST_SECRET' in os.environ, [v for v in os.environ.values() if 'host-secret' in v])`,
      'ok',
    );
    assert.equal(run.line, '[] False []');
    assert.equal(readFileSync(secret, 'utf8'), 'host-secret');
    assert.ok(existsSync('/usr/bin/python3'));
  });

  test('each program starts afresh (X15)', async () => {
    await ended('x = 5\nopen("/tmp/x.py", "w").write("x = 5")\nprint(x)', 'ok');
    await ended('print(x)', 'runtime error', /NameError/);
    await ended('import sys\nsys.path.append("/tmp")\nimport x', 'missing import', /No module named 'x'/);
  });

  test('a 300 kB program passes by pipe, a too large one is not run (X14); sympy works', async () => {
    const large = `x = "${'0'.repeat(300_000)}"\nprint(len(x))`;
    assert.equal((await ended(large, 'program too large')).wallMs, 0);
    const more = { scratchBytes: marker, programBytes: 2 ** 20, cpuSoftS: 20, cpuHardS: 21 };
    const roomy = await openSandbox({ kind: 'bwrap', limits: more });
    const run = await roomy.run(large);
    const solved = await roomy.run('import sympy\nx = sympy.Symbol("x")\nprint(sympy.solve(x - 3, x)[0])');
    await roomy.close();
    assert.deepEqual(availableLibraries(roomy.report).slice(0, 3), ['math', 'fractions', 'sympy']);
    assert.deepEqual([solved.outcome, solved.line], ['ok', '3']);
    assert.equal(run.line, '300000');
  });

  const literal: [boolean, string][] = [
    [true, 'print(14)'],
    [true, 'x = 14\ny = x\nprint(f"the answer is {y}")'],
    [true, 'def solve():\n    return 14\nprint(solve())'],
    [true, 'from fractions import Fraction\nprint(Fraction(1, 2))'],
    [true, 'a = 3 + 4\nprint("14")'],
    [true, 'if __name__ == "__main__":\n    print(-14)'],
    [true, 'answer = 14\nif answer == 14:\n    print(str(answer).strip())'],
    [true, 'import sys\nsys.stdout.write("14\\n")'],
    [false, 'print(3+4*2)'],
    [false, 'total = 0\nfor i in range(5):\n    total += i\nprint(total)'],
    [false, 'h = 6\nprint(h*60 + 26)'],
    [false, 'import math\nprint(math.gcd(12, 18))'],
    [false, 'assert 3 + 4*2 == 11\nprint(11)'],
    [false, 'def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nprint(f(5))'],
    [false, 'if 7 % 2 == 1:\n    print(1)\nelse:\n    print(0)'],
    [false, 'print(sum([1, 2]))'],
    [false, 'x = []\nx.append(3 + 4)\nprint(x[0])'],
  ];
  test('programs that only print literals are told from those that compute', async () => {
    for (const [expected, program] of literal) {
      const run = await sandbox.run(program);
      assert.deepEqual([run.outcome, run.literal], ['ok', expected], program);
    }
  });

  test('256 hostile or broken programs in a row leave the run alive', async () => {
    const kinds = [
      'print(',
      'raise SystemExit(3)',
      'import nothing_here',
      '1/0',
      'import os; os.kill(-1, 9)',
      'print("x" * 10**6)',
      'x = [0] * 10**10',
      'import os; os._exit(0)',
      'open("/etc/passwd")',
      'import os; os.abort()',
      '?',
      'import os, sys; os.close(1); os.close(2); sys.exit()',
      'def f(): return f()\nf()',
      'exec("(" * 200)',
      'while 1: print()',
      'import ctypes; ctypes.string_at(0)',
    ];
    const tool = pythonTool({ sandbox: await openSandbox({ kind: 'bwrap', limits }), canonical: plainKey });
    const checks = Array.from({ length: 256 }, (_, i) => ({
      question: '',
      trace: '',
      answer: '1',
      key: '1',
      reply: `\`\`\`python\n# ${i}\n${kinds[i % kinds.length]}\n\`\`\``,
    }));
    const verdicts = await tool.check(checks);
    assert.equal(verdicts.length, 256);
    assert.equal(tool.counts.started, 256);
    assert.deepEqual(
      verdicts.filter((verdict) => verdict.value === 1 || verdict.reason === 'sandbox error'),
      [],
    );
    const [good] = await tool.check([{ ...checks[0]!, reply: '```python\nprint(3 - 2)\n```' }]);
    assert.equal(good?.value, 1);
    await tool.close();
    assert.equal(await noSurvivors(), 0);
  });

  test('identical programs run once, kept runs not again', async () => {
    const cache = openRunCache(null);
    const tool = pythonTool({ sandbox, canonical: plainKey, cache });
    const check = { question: '', trace: '', answer: '7', key: '7', reply: '```\nprint(3+4)\n```' };
    const verdicts = await tool.check([
      check,
      check,
      { ...check, key: '8' },
      { ...check, key: null },
      { ...check, reply: 'no' },
    ]);
    assert.deepEqual(
      verdicts.map((v) => v.reason),
      ['verified', 'verified', 'refuted', 'no answer', 'no program'],
    );
    assert.deepEqual(tool.counts, { started: 1, spared: 2 });
    const again = pythonTool({ sandbox, canonical: plainKey, cache });
    assert.equal((await again.check([check]))[0]?.value, 1);
    assert.equal(again.counts.started, 0);
  });

  test('sandbox errors in a row stop with an error, never with a verdict of wrong', async () => {
    const broken = await openSandbox({ kind: 'bwrap', limits });
    const tool = pythonTool({ sandbox: broken, canonical: plainKey, maxSandboxErrors: 3 });
    await broken.close();
    const check = (i: number): Parameters<typeof tool.check>[0] => [
      { question: '', trace: '', answer: '7', key: '7', reply: `\`\`\`\nprint(7+${i})\n\`\`\`` },
    ];
    assert.equal((await tool.check(check(0)))[0]?.value, 'missing');
    assert.equal((await tool.check(check(1)))[0]?.reason, 'sandbox error');
    await assert.rejects(tool.check(check(2)), { code: 'VF_SANDBOX_FAILED', exitCode: 1 });
  });

  test('60 sleeping processes of the same user stop neither of two sandboxes', async () => {
    const uid = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const sleepers: ChildProcess[] = [];
    for (let i = 0; i < 60; i++)
      sleepers.push(spawn('/bin/sleep', ['60'], { stdio: 'ignore', cwd: '/', ...uid }));
    try {
      const other = await openSandbox({ kind: 'bwrap', limits });
      const fork =
        'import os, time\nfor _ in range(20):\n if os.fork() == 0:\n  time.sleep(0.3)\n  os._exit(0)\nprint(1+1)';
      const runs = await Promise.all([sandbox.run(fork), other.run(fork)]);
      await other.close();
      assert.deepEqual(
        runs.map((run) => [run.outcome, run.line]),
        [
          ['ok', '2'],
          ['ok', '2'],
        ],
      );
    } finally {
      for (const sleeper of sleepers) sleeper.kill('SIGKILL');
    }
  });

  test('closing kills what runs', async () => {
    const closing = await openSandbox({ kind: 'bwrap', limits, parallel: 1 });
    const runs = [closing.run('import time\ntime.sleep(60)'), closing.run('print(1)')];
    await sleep(500);
    await closing.close();
    const done = await Promise.all(runs);
    assert.deepEqual(
      done.map((run) => run.outcome),
      ['sandbox error', 'sandbox error'],
    );
    assert.equal(await noSurvivors(), 0);
  });

  test('when the run itself is killed, its programs die with it', async () => {
    const size = marker + 8192 * 2048;
    const script = `import { openSandbox } from './src/verify/sandbox.js';
const sandbox = await openSandbox({ kind: 'bwrap', limits: { scratchBytes: ${size} } });
console.log('open');
await Promise.all([1, 2].map((i) => sandbox.run('import time\\ntime.sleep(60) #' + i)));`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout!, 'data');
    for (let i = 0; i < 100 && survivors(size) < 2; i++) await sleep(50);
    assert.ok(survivors(size) >= 2);
    parent.kill('SIGKILL');
    assert.equal(await noSurvivors(size), 0);
  });
});
