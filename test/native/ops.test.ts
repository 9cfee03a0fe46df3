/** The op tests without Node: builds native/test with the system's compiler and runs each program. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
const out = join(root, 'build', 'native-test');
const compiler = process.env.CXX ?? 'g++';
const missing =
  spawnSync(compiler, ['--version']).status === 0
    ? false
    : `no C++ compiler: apt-get install g++ (tried ${compiler})`;
const programs = readdirSync(join(root, 'native', 'test'))
  .filter((name) => /^test_.*\.cpp$/.test(name))
  .map((name) => name.replace('.cpp', ''));

describe('native ops', { skip: missing }, () => {
  before(() => {
    const built = spawnSync('sh', [join(root, 'native', 'test', 'build.sh'), out], { encoding: 'utf8' });
    assert.equal(built.status, 0, built.stderr);
  });

  test('there are programs to run', () => {
    assert.ok(programs.length >= 5, `found ${programs.length}`);
  });

  for (const name of programs) {
    test(`${name} passes`, () => {
      assert.ok(existsSync(join(out, name)));
      const result = spawnSync(join(out, name), { encoding: 'utf8' });
      assert.equal(result.status, 0, `${result.stdout}${result.stderr}`);
      assert.match(result.stdout, /: ok/);
    });
  }
});
