/** The README tells the truth: its commands exist, its table is the program's, its files are there. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SECTIONS } from '../src/cli/program.js';
import { PRESETS } from '../src/config/presets.js';
import { COMMAND_OPTIONS } from '../src/config/schema.js';
import { loadQuestions } from '../src/data/load.js';

const root = path.dirname(import.meta.dirname);
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');

test('the command table is the one of vf --help', () => {
  const rows = SECTIONS.flatMap(({ rows }) => rows).map(({ name, about }) => `| \`vf ${name}\` | ${about} |`);
  const table = /<!-- commands:.*?-->\n([\s\S]*?)\n<!-- \/commands -->/.exec(readme)![1]!;
  assert.deepEqual(table.split('\n').slice(2), rows);
});

test('every command line shown names a command, flags and presets that exist', () => {
  const lines = [...readme.matchAll(/(?:npx )?\bvf ([a-z]+)((?: [^\n`#]*)?)/g)].filter(([, name]) =>
    SECTIONS.some(({ rows }) => rows.some((row) => row.name === name)),
  );
  assert.ok(lines.length > 10);
  for (const [line, name, rest] of lines) {
    const options = Object.keys(COMMAND_OPTIONS[name as keyof typeof COMMAND_OPTIONS] ?? {});
    for (const [, flag, value] of rest!.matchAll(/--([a-z-]+)(?: ([^\s-][^\s]*))?/g)) {
      if (options.length > 0) assert.ok(options.includes(flag!), `--${flag} in: ${line}`);
      if (flag === 'preset') assert.ok(value! in PRESETS, `${value} in: ${line}`);
    }
  }
});

test('every file and folder named in backticks is there', () => {
  const named = [...readme.matchAll(/`((?:src|native|test|assets|examples|scripts)\/[\w./-]*)`/g)].map(
    ([, name]) => name!,
  );
  assert.ok(named.length > 5);
  for (const name of named) assert.ok(existsSync(path.join(root, name)), name);
});

test('the README stays below 250 lines', () => {
  assert.ok(readme.split('\n').length <= 250);
});

test('the example questions load and the example settings name known keys', async () => {
  assert.equal(
    (await loadQuestions(path.join(root, 'examples', 'questions.jsonl'), { answers: 'required' })).length,
    4,
  );
  const keys = readFileSync(path.join(root, 'examples', 'own-model.yaml'), 'utf8')
    .split('\n')
    .filter((line) => /^[a-z]/.test(line))
    .map((line) => line.split(':')[0]!);
  for (const key of keys) assert.ok(key === 'preset' || key in COMMAND_OPTIONS.train, key);
});
