/** The table of ops: every op of the contract, device and number format, once. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../src/native/binding.js';
import { OP_NAMES, opTable } from '../../src/native/ops.js';

const header = readFileSync(path.join(packageRoot, 'native', 'ops', 'ops.h'), 'utf8');
const cuda = { compiled: false, simulated: false, devices: [], memory: [], reason: '', switches: {} };

test('the names are those of the contract, in its order', () => {
  const ops = header.slice(header.indexOf('weights_changed()'));
  const names = [...ops.matchAll(/virtual (?:void|double) (\w+)\((?:const \w+Args&|const float\* x)/g)];
  assert.deepEqual(
    OP_NAMES,
    names.map(([, name]) => name),
  );
});

test('every op stands once for each device and format, and a build without CUDA says no', () => {
  const rows = opTable({ cpu: { isa: 'avx2', bf16: false }, cuda });
  assert.equal(rows.length, 21 * 4);
  assert.equal(new Set(rows.map(({ op, device, dtype }) => `${op} ${device} ${dtype}`)).size, 84);
  assert.deepEqual(
    new Set(rows.filter((row) => row.device === 'cuda').map((row) => row.state)),
    new Set(['no']),
  );
});

test('a build with CUDA multiplies in bf16 and keeps the rest in f32', () => {
  const rows = opTable({ cpu: { isa: 'avx512', bf16: true }, cuda: { ...cuda, compiled: true } });
  const state = (op: string, device: string, dtype: string) =>
    rows.find((row) => row.op === op && row.device === device && row.dtype === dtype)?.state;
  assert.equal(state('attention', 'cuda', 'bf16'), 'parity');
  assert.equal(state('attention', 'cpu', 'bf16'), 'f32 inside');
  assert.equal(state('rmsnorm', 'cuda', 'bf16'), 'f32 inside');
  assert.equal(state('matmul', 'cpu', 'f32'), 'reference');
});
