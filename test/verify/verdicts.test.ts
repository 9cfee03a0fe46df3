/** The file of finished runs, and programs as bytes. */

import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultLimits, resolveLimits } from '../../src/verify/sandbox-limits.js';
import { decodeOutput, lastLine, readRun } from '../../src/verify/sandbox-run.js';
import { seccompFilter } from '../../src/verify/sandbox-seccomp.js';
import { openRunCache, programHash } from '../../src/verify/verdicts.js';
import { scratch } from '../scratch.js';

const run = { outcome: 'ok', line: '14', detail: '', literal: false } as const;

test('runs are read back, a line cut by a crash is dropped and overwritten', () => {
  const folder = scratch('verdicts');
  try {
    const file = join(folder, 'verdicts.jsonl');
    const first = openRunCache(file);
    first.put('a', run);
    first.put('b', { ...run, outcome: 'timeout', line: null, literal: null });
    appendFileSync(file, '{"v":1,"hash":"c","outc');
    const second = openRunCache(file);
    assert.equal(second.size, 2);
    assert.deepEqual(second.get('a'), run);
    assert.equal(second.get('b')?.outcome, 'timeout');
    second.put('d', run);
    assert.equal(readFileSync(file, 'utf8').split('\n').length, 4);
    assert.equal(openRunCache(file).size, 3);
    writeFileSync(file, 'no json\n[]\n{"hash":3}\n');
    assert.equal(openRunCache(file).size, 0);
  } finally {
  }
});

test('the hash depends on program, limits and interpreter', () => {
  const report = { kind: 'bwrap', interpreter: 'Python 3.11.2', limits: { ...defaultLimits } } as const;
  const hash = programHash('print(1)', report);
  assert.equal(programHash('print(1)', structuredClone(report)), hash);
  assert.notEqual(programHash('print(2)', report), hash);
  assert.notEqual(programHash('print(1)', { ...report, limits: { ...defaultLimits, cpuSoftS: 2 } }), hash);
  assert.notEqual(programHash('print(1)', { ...report, interpreter: 'Python 3.12.0' }), hash);
});

test('limits are positive whole numbers, the hard CPU limit above the soft one', () => {
  assert.throws(() => resolveLimits({ wallMs: 0 }), { code: 'VF_INVALID_VALUE' });
  assert.throws(() => resolveLimits({ cpuSoftS: 1.5 }), { code: 'VF_INVALID_VALUE' });
  assert.throws(() => resolveLimits({ cpuSoftS: 4 }), { code: 'VF_INVALID_VALUE' });
});

test('output is cut between characters; what is no text is replaced and flagged (X06, X11)', () => {
  const euros = Buffer.from('€€€');
  assert.deepEqual(decodeOutput(euros.subarray(0, 8), true), { text: '€€', replaced: false });
  assert.deepEqual(decodeOutput(euros.subarray(0, 7), true), { text: '€€', replaced: false });
  assert.deepEqual(decodeOutput(euros, true), { text: '€€€', replaced: false });
  assert.deepEqual(decodeOutput(Buffer.from([255, 0, 254]), false), {
    text: '\uFFFD\uFFFD\uFFFD',
    replaced: true,
  });
  assert.deepEqual(decodeOutput(Buffer.from('a\uFFFD'), false), { text: 'a\uFFFD', replaced: false });
  assert.equal(lastLine('1\r\n 14 \n\n'), '14');
  assert.equal(lastLine(' \n'), null);
});

test('a process that never reported a start is a sandbox error, whatever it printed', () => {
  const result = {
    end: 'exit',
    exitCode: 0,
    signal: null,
    stdout: Buffer.from('14\n'),
    stdoutCut: false,
    stderr: Buffer.from('bwrap: No permissions\n'),
    report: '',
    wallMs: 5,
    error: null,
  } as const;
  const read = readRun({ ...result });
  assert.deepEqual([read.outcome, read.detail], ['sandbox error', 'bwrap: No permissions']);
});

test('the filter refuses other ABIs, knows two machines, and ends by allowing', () => {
  for (const [arch, audit] of [
    ['x64', 0xc000003e],
    ['arm64', 0xc00000b7],
  ] as const) {
    const filter = seccompFilter(arch);
    assert.ok(filter !== null);
    assert.equal(filter.length % 8, 0);
    assert.equal(filter.readUInt32LE(12), audit);
    assert.equal(filter.readUInt32LE(20), 0x80000000);
    assert.equal(filter.readUInt16LE(filter.length - 8), 0x06);
    assert.equal(filter.readUInt32LE(filter.length - 4), 0x7fff0000);
  }
  assert.equal(seccompFilter('x64')!.length - seccompFilter('arm64')!.length, 16);
  assert.equal(seccompFilter('ia32'), null);
});
