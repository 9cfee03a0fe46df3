/** A machine without compiler or CMake: the build says so once, with numbered remedies. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const root = path.dirname(path.dirname(import.meta.dirname));

test('nothing to build with is one error with numbered remedies: exit 3', () => {
  const { PATH: _, CXX: __, npm_config_node_gyp: ___, ...env } = process.env;
  const { status, stderr } = spawnSync(
    process.execPath,
    [path.join(root, 'scripts', 'build.js'), '--addon', '--force'],
    {
      encoding: 'utf8',
      env: { ...env, PATH: '/nowhere' },
    },
  );
  assert.equal(status, 3);
  assert.match(
    stderr,
    /^error: the native addon can't be built here\n {2}1\. no C\+\+17 compiler: .*apt-get install g\+\+/,
  );
  assert.match(stderr, /\n {2}2\. no CMake: /);
  assert.match(stderr, /\n {2}4\. .*VF_SKIP_BUILD=1 npm install/);
});
