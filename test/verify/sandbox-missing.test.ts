/** Where bubblewrap is missing, refused or asked to stand aside: nothing falls back, and the way out is named. */

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { VfError } from '../../src/errors.js';
import { openSandbox, sandboxLine } from '../../src/verify/sandbox.js';
import { scratch } from '../scratch.js';
import { sandboxSkip } from './needs-sandbox.js';

describe('where bubblewrap is missing or refused', () => {
  const refuses = async (options: Parameters<typeof openSandbox>[0], message: RegExp): Promise<VfError> => {
    const error = await openSandbox(options).then(
      () => assert.fail('it opened'),
      (error: unknown) => error,
    );
    assert.ok(error instanceof VfError);
    assert.equal(error.exitCode, 3);
    assert.match(error.message, message);
    return error;
  };

  test('three remedies are named, and nothing falls back', async () => {
    const error = await refuses({ kind: 'bwrap', bwrap: '/nonexistent/bwrap' }, /\/nonexistent\/bwrap/);
    assert.match(error.hint ?? '', /apt-get install -y bubblewrap[\s\S]*--sandbox deno[\s\S]*--tool smt/);
    await refuses({ kind: 'bwrap', python: '/nonexistent/python3' }, /nonexistent/);
  });

  test('a refused user namespace is told from a failing program', { skip: sandboxSkip }, async () => {
    const folder = scratch('bwrap');
    const fake = join(folder, 'bwrap');
    writeFileSync(fake, '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n', {
      mode: 0o755,
    });
    chmodSync(folder, 0o755);
    const error = await refuses({ kind: 'bwrap', bwrap: fake }, /setting up uid map: Permission denied/);
    assert.equal(error.code, 'VF_SANDBOX_MISSING');
  });

  test('a bwrap that isolates nothing is refused with what is open', { skip: sandboxSkip }, async () => {
    const folder = scratch('bwrap');
    const fake = join(folder, 'bwrap');
    writeFileSync(
      fake,
      '#!/bin/sh\nwhile [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
      { mode: 0o755 },
    );
    chmodSync(folder, 0o755);
    const limits = { processes: 4096 };
    const error = await refuses({ kind: 'bwrap', bwrap: fake, limits }, /host files hidden.*network/);
    assert.equal(error.code, 'VF_SANDBOX_OPEN');
  });

  test('deno without its packages names what to install', async () => {
    const error = await refuses({ kind: 'deno', denoFolder: tmpdir() }, /deno and pyodide/);
    assert.match(error.hint ?? '', /npm install deno pyodide/);
  });

  // 92 MB of packages are no part of a test run: this one exists only where VF_DENO_DIR says where they are.
  if (process.env.VF_DENO_DIR !== undefined) {
    test('deno stops every escape and runs programs', async () => {
      const sandbox = await openSandbox({ kind: 'deno' });
      assert.equal(
        sandbox.report.enforced
          .filter((check) => !check.ok && check.name !== 'unprivileged user')
          .map((check) => check.name)
          .join(),
        'memory limit',
      );
      const runs = await Promise.all(
        ['print(3+4)', 'print(', 'import sympy', 'print(14)'].map((program) => sandbox.run(program)),
      );
      await sandbox.close();
      assert.deepEqual(
        runs.map((run) => [run.outcome, run.line, run.literal]),
        [
          ['ok', '7', false],
          ['syntax error', null, null],
          ['missing import', null, false],
          ['ok', '14', true],
        ],
      );
    });
  }

  test('another word for a sandbox is refused', async () => {
    await assert.rejects(openSandbox({ kind: 'docker' as 'none' }), {
      code: 'VF_INVALID_VALUE',
      exitCode: 2,
    });
    await assert.rejects(openSandbox({ kind: 'bwrap', parallel: 0 }), { code: 'VF_INVALID_VALUE' });
  });

  test('none runs only when asked for, and reports what is open', { skip: sandboxSkip }, async () => {
    const sandbox = await openSandbox({ kind: 'none', limits: { cpuSoftS: 1, cpuHardS: 2 } });
    assert.match(sandboxLine(sandbox.report), /sandbox none.*NOT enforced: .*network/);
    assert.equal((await sandbox.run('print(2+3)')).line, '5');
    assert.equal((await sandbox.run('while True: pass')).outcome, 'timeout');
    assert.equal((await sandbox.run('print(')).outcome, 'syntax error');
    assert.equal((await sandbox.run('while True: print(1)')).outcome, 'output limit');
    await sandbox.close();
  });
});
