/** Help, usage errors and how failures are printed. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { commands as train } from '../../src/cli/commands/train.js';
import { failureRecord, formatFailure } from '../../src/cli/failure.js';
import { parseCall } from '../../src/cli/flags.js';
import { commandHelp, helpTopic, mainHelp } from '../../src/cli/help.js';
import { findCommand, loadCommands, SECTIONS } from '../../src/cli/program.js';
import { COMMAND_OPTIONS } from '../../src/config/schema.js';
import { VfError } from '../../src/errors.js';
import { scratch } from '../scratch.js';
import { vf } from './vf.js';

const folder = scratch('usage');

test('vf --help fits 24 lines and 80 columns and names every command', () => {
  const lines = mainHelp('0.1.0').trimEnd().split('\n');
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  assert.ok(lines.every((line) => line.length <= 80));
  for (const { name } of SECTIONS.flatMap((section) => section.rows)) {
    assert.ok(
      lines.some((line) => line.startsWith(`  ${name} `)),
      name,
    );
  }
});

test('what vf --help loads imports no package at all', () => {
  const root = path.dirname(path.dirname(import.meta.dirname));
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, keyword, specifier] of text.matchAll(
      /^(import type|import|export)\b[^;]*?\bfrom '([^']+)'/gm,
    )) {
      if (keyword === 'import type') continue;
      if (specifier!.startsWith('.'))
        visit(path.join(path.dirname(file), specifier!.replace(/\.js$/, '.ts')));
      else assert.ok(specifier!.startsWith('node:'), `${file} imports ${specifier}`);
    }
  };
  for (const name of ['main', 'help', 'program']) visit(path.join(root, 'src', 'cli', `${name}.ts`));
  assert.ok(seen.size > 8);
});

test("every command's help shows its examples first and each option once; rare ones wait for --help-all", async () => {
  for (const { name } of SECTIONS.flatMap((section) => section.rows)) {
    for (const command of await loadCommands(name)) {
      const [few, all] = [commandHelp(command, false), commandHelp(command, true)];
      assert.match(few, /^ {2}\$ vf /, command.name);
      for (const [option, { rare }] of Object.entries(command.options)) {
        const flag = new RegExp(`^ {2}--(no-)?${option}( |$)`, 'm');
        assert.match(all, flag, `${command.name} --${option}`);
        if (rare === true) assert.doesNotMatch(few, flag, `${command.name} --${option}`);
      }
      for (const line of all.split('\n')) assert.ok(line.length <= 120, line);
    }
  }
  assert.match(commandHelp((await loadCommands('train'))[0]!, false), /--lr <n> +learning rate \(1e-6\)/);
});

test('no example names a flag that its command lacks', async () => {
  for (const { name } of SECTIONS.flatMap((section) => section.rows)) {
    for (const command of await loadCommands(name)) {
      for (const example of command.examples) {
        const own = example.split(/[|>]/)[0]!;
        for (const [, flag] of own.matchAll(/ --([\w-]+)/g)) {
          assert.ok(flag! in command.options, `${command.name}: --${flag}`);
        }
      }
    }
  }
});

test('every option says what it is in its own words', () => {
  for (const [command, options] of Object.entries(COMMAND_OPTIONS)) {
    for (const [name, { help }] of Object.entries(options)) {
      assert.ok(help.length > 8 && !help.endsWith('.'), `${command} --${name}: ${help}`);
    }
  }
});

/** What main prints when a command line can't be parsed. */
async function usageFailure(words: string[]): Promise<string> {
  try {
    const { command, rest } = await findCommand(words);
    parseCall(command, rest);
    return '';
  } catch (error) {
    assert.equal((error as VfError).exitCode, 2);
    return formatFailure(error, false);
  }
}

test('an unknown command, flag or word suggests the nearest', async () => {
  const cases: [string[], string][] = [
    [['trian'], 'error: unknown command "trian"\nhelp: did you mean `vf train`?\n'],
    [
      ['train', '--promts-per-step', '4'],
      'error: unknown flag --promts-per-step for vf train\nhelp: did you mean --prompts-per-step?\n',
    ],
    [['runs', 'lst'], 'error: unknown command "runs lst"\nhelp: did you mean `vf runs list`?\n'],
    [
      ['data'],
      'error: vf data needs a word that says what to do\nhelp: vf data has filter, stats, patch, convert\n',
    ],
    [['score'], "error: missing required argument 'FILE'\nhelp: `vf score --help` shows how it is used\n"],
    [
      ['train', '--lr'],
      "error: option '--lr <value>' argument missing\nhelp: `vf train --help` shows how it is used\n",
    ],
    [['train', '--lr', '-1', '--no-recompute', '--map', 'a=b', '--map', 'c=d'], ''],
  ];
  for (const [words, text] of cases) assert.equal(await usageFailure(words), text);
});

test('flags come as given, repeated pairs as a list, --no-x as false', () => {
  const call = parseCall(train[0]!, [
    '--lr',
    '-1',
    '--no-recompute',
    '--map',
    'a=b',
    '--map',
    'c=d',
    '--json',
  ]);
  assert.deepEqual(call, {
    args: [],
    flags: { map: ['a=b', 'c=d'], lr: '-1', recompute: false, json: true },
  });
});

test('a configuration with several problems prints each with its place, then exits with 2', async () => {
  const file = path.join(folder, 'run.yaml');
  writeFileSync(file, 'model: m\n\nprompts-per-stp: 4\n');
  const { code, stdout, stderr } = await vf(['train', '--config', file, '--steps', '0']);
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    `error: unknown key "prompts-per-stp" in ${file}
  --> ${file}:3:1   prompts-per-stp: 4
help: did you mean "prompts-per-step"?

error: Expected an integer of at least 1 for --steps but received "0"
`,
  );
});

test('under --json a failure is one object: an end event for long jobs, {error} elsewhere', async () => {
  const job = await vf(['train', '--lr', 'x', '--json']);
  assert.equal(job.stderr, '');
  const { time, ...end } = JSON.parse(job.stdout);
  assert.match(time, /^\d{4}-/);
  assert.deepEqual(end, {
    v: 1,
    event: 'end',
    run: null,
    exitCode: 2,
    summary: {},
    error: {
      code: 'VF_INVALID_VALUE',
      message: 'Expected a number of at least 0 for --lr but received "x"',
    },
  });
  const other = await vf(['runs', 'show', 'nowhere', '--json']);
  assert.equal(other.code, 2);
  assert.deepEqual(Object.keys(JSON.parse(other.stdout)), ['error']);
  assert.equal(JSON.parse(other.stdout).error.code, 'VF_NO_RUN');
});

test('a failure shows what, where, what was expected and one thing to do', () => {
  const error = new VfError('VF_DATA', 'row 17 of math.jsonl has no reference answer', {
    file: 'math.jsonl',
    line: 17,
    text: '{"answer": "\u001b[2J"}',
    expected: 'a non-empty string in "answer"',
    hint: 'drop such rows',
  });
  assert.equal(
    formatFailure(error, false),
    `error: row 17 of math.jsonl has no reference answer
  --> math.jsonl:17   {"answer": "␛[2J"}
  expected a non-empty string in "answer"
help: drop such rows
`,
  );
  assert.deepEqual(failureRecord(error), {
    code: 'VF_DATA',
    message: 'row 17 of math.jsonl has no reference answer',
    hint: 'drop such rows',
    file: 'math.jsonl',
    line: 17,
  });
});

test('a stack is shown with VF_DEBUG=1 only', async () => {
  const quiet = await vf(['trian']);
  const loud = await vf(['trian'], { env: { VF_DEBUG: '1' } });
  assert.doesNotMatch(quiet.stderr, /\n +at /);
  assert.match(loud.stderr, /\n +at /);
  assert.equal(loud.code, 2);
});

test('what is no VfError is called a fault of vf and exits with 1', () => {
  assert.equal(
    formatFailure(new TypeError('x is undefined'), false),
    'error: x is undefined\nhelp: this is a fault of vf: VF_DEBUG=1 shows where\n',
  );
});

test('vf help knows the formats and the commands', async () => {
  assert.match(await helpTopic(['formats'], '0'), /"question": "Tom has 3 boxes/);
  assert.match(await helpTopic(['runs'], '0'), /vf runs compare/);
  assert.match(await helpTopic(['doctor'], '0'), /^ {2}\$ vf doctor\n/);
  assert.equal(await helpTopic([], '0.1.0'), mainHelp('0.1.0'));
  await assert.rejects(helpTopic(['nonsense'], '0'), /no help on "nonsense"/);
});
