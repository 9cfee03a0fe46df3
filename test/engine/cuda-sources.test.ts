/** What the CUDA sources must not contain: questions about the shim, float atomics, shared memory inside templates. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../src/native/binding.js';

const folder = path.join(packageRoot, 'native', 'cuda');
const sources = readdirSync(folder)
  .filter((name) => /\.(cu|cuh|h|cpp)$/.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }));

/** Names of the files in which the pattern occurs. */
const filesWith = (pattern: RegExp) =>
  sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name);

test('only the header of single instructions asks whether it runs under the shim', () => {
  assert.deepEqual(filesWith(/VF_CUDA_SHIM|__CUDACC__|__CUDA_ARCH__|vf_shim/), ['instructions.cuh']);
});

test('inline assembly stands in the header of single instructions only', () => {
  assert.deepEqual(filesWith(/\basm\b/), ['instructions.cuh']);
});

test('atomics add whole numbers only, in sampling, so that no order of additions reaches a loss or a gradient', () => {
  assert.deepEqual(filesWith(/atomic[A-Z]/), ['sample.cu']);
  const { text } = sources.find(({ name }) => name === 'sample.cu')!;
  for (const [, target] of text.matchAll(/atomicAdd\(&s\.(\w+)\[/g)) {
    assert.ok(
      new RegExp(`unsigned long long [^;]*\\b${target}\\[256\\]`).test(text),
      `${target} is whole numbers`,
    );
  }
});

test('a kernel that is a template takes its shared memory at the launch, where the shim can poison it', () => {
  for (const { name, text } of sources) {
    for (const kernel of text.split(/(?=template <)/).slice(1)) {
      const body = kernel.slice(0, kernel.indexOf('\n}'));
      assert.ok(!/__global__/.test(body) || !/__shared__/.test(body), name);
    }
  }
});

test('every CUDA source is in the list that builds it', () => {
  const listed = readFileSync(path.join(folder, 'sources.txt'), 'utf8').trim().split('\n');
  const there = sources.filter(({ name }) => name.endsWith('.cu')).map(({ name }) => `native/cuda/${name}`);
  assert.deepEqual(listed.toSorted(), there.toSorted());
});
