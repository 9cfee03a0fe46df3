/** A fresh clone: one `npm install` builds once, and the README's first command starts from there. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { scratch } from '../scratch.js';

const root = path.dirname(path.dirname(import.meta.dirname));
const skip =
  process.env.VF_LARGE === '1' ? false : 'installs and compiles for minutes: VF_LARGE=1 npm test -- install';

describe('an empty clone', { skip }, () => {
  // A space and a letter outside ASCII: every path must travel as one argument.
  const home = scratch('clone é');
  const clone = path.join(home, 'vf');
  const cache = path.join(home, 'cache');
  const run = (command: string, args: string[], env: Record<string, string> = {}) =>
    execFileSync(command, args, {
      cwd: existsSync(clone) ? clone : home,
      encoding: 'utf8',
      env: { ...process.env, npm_config_cache: cache, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const addon = path.join(clone, 'build', 'Release', 'vf.node');

  test('npm install builds the addon for the CPU and dist/, and links the program', () => {
    mkdirSync(cache);
    run('git', ['clone', '-q', root, 'vf']);
    run('npm', ['install', '--no-audit', '--no-fund']);
    assert.ok(existsSync(addon));
    assert.ok(existsSync(path.join(clone, 'dist', 'cli', 'main.js')));
    assert.equal(readlinkSync(path.join(clone, 'node_modules', '.bin', 'vf')), '../../bin/vf.js');
  });

  test('npx vf runs the install script again (npm 11 links the clone into its cache) and builds nothing', () => {
    const built = statSync(addon).mtimeMs;
    assert.match(run('npx', ['vf', '--version']), /^\d+\.\d+\.\d+\n$/);
    assert.equal(statSync(addon).mtimeMs, built);
  });

  test('installing again builds nothing', () => {
    const built = statSync(addon).mtimeMs;
    run('npm', ['install', '--no-audit', '--no-fund']);
    assert.equal(statSync(addon).mtimeMs, built);
  });

  test('binding.gyp builds the same sources where there is no CMake', () => {
    rmSync(path.join(clone, 'build'), { recursive: true });
    // npm names its own node-gyp, and where Node's headers are, in the environment of what it runs.
    run('npm', ['exec', '-c', 'node "$npm_config_node_gyp" rebuild --jobs=2']);
    const doctor = run('node', ['bin/vf.js', 'doctor', '--json']);
    assert.match(doctor, /avx512|avx2|base/);
  });

  test('without the addon, help and data commands work and the rest says what to do', () => {
    rmSync(path.join(clone, 'build'), { recursive: true });
    assert.match(run('node', ['bin/vf.js', '--help']), /vf train/);
    assert.match(run('node', ['bin/vf.js', 'data', 'stats', 'examples/questions.jsonl']), /4/);
    assert.throws(
      () => run('node', ['bin/vf.js', 'sample', '--prompt', 'x']),
      (error: { status: number; stderr: string }) => error.status === 3 && /vf build/.test(error.stderr),
    );
  });
});
