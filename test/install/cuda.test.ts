/**
 * `vf build --cuda` in a copy of the package that native/test/cuda_nvcc.sh makes (minutes of nvcc, unless it is there
 * already): the addon with CUDA loads anywhere, and says what a machine without a GPU lacks.
 */

import assert from 'node:assert/strict';
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { scratch } from '../scratch.js';

const root = path.dirname(path.dirname(import.meta.dirname));
const made = path.join(root, 'build', 'cuda-test', 'nvcc');
const tree = path.join(made, 'tree');
const addon = path.join(tree, 'build', 'Release', 'vf.node');

/** Whether the kernels were compiled after their last change, as native/test/cuda_nvcc.sh asks. */
function compiled(): boolean {
  const done = path.join(made, 'done');
  if (!existsSync(done)) return false;
  const folders = ['cuda', 'ops', 'core'].map((name) => path.join(root, 'native', name));
  const files = folders.flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)));
  const sources = [...files, path.join(root, 'CMakeLists.txt')];
  return sources.every((file) => statSync(file).mtimeMs <= statSync(done).mtimeMs);
}

/** Why the tests can't run here; false where they can. */
function whyNot(): string | false {
  if (spawnSync('nvcc', ['--version']).status !== 0) return 'no GPU toolkit here (nvcc)';
  if (process.env.VF_LARGE === '1' || compiled()) return false;
  return 'compiles for minutes: VF_LARGE=1 npm test -- install/cuda';
}

describe('an addon with CUDA', { skip: whyNot() }, () => {
  const folder = scratch('cuda');
  const run = (words: string[], env: Record<string, string> = {}): SpawnSyncReturns<string> =>
    spawnSync(
      process.execPath,
      words.map((word) => (word.endsWith('.js') ? path.join(tree, word) : word)),
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, VF_NATIVE_PATH: '', ...env },
      },
    );
  const setUpForCuda = () =>
    /^VF_CUDA:BOOL=ON$/m.test(readFileSync(path.join(tree, 'build', 'CMakeCache.txt'), 'utf8'));

  before(() => {
    execFileSync('sh', ['native/test/cuda_nvcc.sh', made], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  });

  test('it needs no CUDA library at load time and weighs less than 12 MB', (t) => {
    assert.ok(statSync(addon).size < 12e6, `${statSync(addon).size} bytes`);
    const { status, stdout } = spawnSync('ldd', [addon], { encoding: 'utf8' });
    if (status !== 0) return t.diagnostic('ldd is not here');
    assert.match(stdout, /libstdc\+\+/);
    assert.doesNotMatch(stdout, /libcuda|libcublas|libnv|not found/);
  });

  test('vf doctor names what is missing for the GPU and every switch with its state', () => {
    const { status, stdout } = run(['bin/vf.js', 'doctor', '--json']);
    assert.equal(status, 0);
    const { checks } = JSON.parse(stdout) as {
      checks: {
        name: string;
        state: string;
        detail: string;
        facts?: { cuda?: { compiled: boolean; devices: string[] } };
      }[];
    };
    const cuda = checks.find(({ name }) => name === 'cuda');
    assert.equal(cuda?.facts?.cuda?.compiled, true);
    if (cuda?.facts?.cuda?.devices.length === 0) {
      assert.equal(cuda.state, 'absent');
      assert.match(
        cuda.detail,
        /no NVIDIA driver|the driver is too old|no GPU is visible|the driver reports|no kernel for/,
      );
    }
    const switches = checks.filter(({ name }) => name === 'switch').map(({ detail }) => detail.split(':')[0]);
    assert.ok(
      switches.includes('own mma.sync products') && switches.includes('cuBLASLt products'),
      switches.join(),
    );
  });

  test('the CPU engine of it trains two steps', () => {
    const flags = '--steps 2 --prompts-per-step 2 --group-size 2 --max-tokens 48 --device cpu --eval-every 0';
    const out = path.join(folder, 'run');
    const { status, stderr } = run(['bin/vf.js', 'train', ...flags.split(' '), '--out', out]);
    assert.equal(status, 0, stderr);
    assert.ok(existsSync(path.join(folder, 'run', 'metrics.jsonl')));
  });

  test('--device cuda without a usable GPU ends with exit 3 and the reason; auto takes the CPU', (t) => {
    const { stdout } = run(['bin/vf.js', 'doctor']);
    if (/^ok +cuda/m.test(stdout)) return t.diagnostic('there is a GPU here');
    const out = path.join(folder, 'refused');
    const { status, stderr } = run(['bin/vf.js', 'train', '--steps', '1', '--device', 'cuda', '--out', out]);
    assert.equal(status, 3);
    assert.match(stderr, /^error: Expected a usable GPU for --device cuda but found none: \w/);
    assert.match(stderr, /help: `vf doctor` shows driver and devices/);
    const sampled = run(['bin/vf.js', 'sample', '--prompt', 'x', '--max-tokens', '2', '--device', 'auto']);
    assert.equal(sampled.status, 0, sampled.stderr);
  });

  test('building again, with or without asking for CUDA, compiles nothing and keeps it', () => {
    const built = statSync(addon).mtimeMs;
    for (const env of [{}, { VF_CUDA: '1' }]) {
      const { status, stderr } = run(['scripts/install.js'], env as Record<string, string>);
      assert.equal(status, 0, stderr);
    }
    assert.equal(statSync(addon).mtimeMs, built);
    assert.ok(setUpForCuda());
  });
});
