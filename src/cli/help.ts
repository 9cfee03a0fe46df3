/** The help texts: `vf --help`, a command's options by group, and the topics of `vf help`. */

import { GROUPS, type Option, type OptionTable } from '../config/option.js';
import { PRESETS } from '../config/presets.js';
import { numberRange } from '../config/value.js';
import { VfError } from '../errors.js';
import type { CliCommand } from './command.js';
import { FORMATS } from './formats.js';
import { loadCommands, SECTIONS } from './program.js';

const WIDTH = 100;

/** `vf --help`: at most 24 lines. */
export function mainHelp(version: string): string {
  const lines = [`vf ${version}: reinforcement learning of language models without a verifier`, ''];
  lines.push('usage: vf COMMAND [flags]');
  for (const { title, rows } of SECTIONS) {
    lines.push(title);
    for (const { name, about } of rows) lines.push(`  ${name.padEnd(8)} ${about}`);
  }
  lines.push(
    '',
    'vf train                                  # the bundled tiny model, on a laptop',
    'vf train --model PATH --data YOUR.jsonl   # your own',
    'more: vf COMMAND --help, vf help formats, README.md',
  );
  return lines.join('\n') + '\n';
}

/** What `vf help` knows beside the commands. */
const TOPICS: Readonly<Record<string, string>> = { formats: FORMATS };

/** The text of `vf help WORD…`. */
export async function helpTopic(words: readonly string[], version: string): Promise<string> {
  const [word] = words;
  if (word === undefined) return mainHelp(version);
  const topic = TOPICS[word];
  if (topic !== undefined) return topic;
  const commands = await loadCommands(word).catch((error: VfError) => {
    throw new VfError('VF_USAGE', `no help on "${word}"`, { hint: error.hint });
  });
  return commandsHelp(word, commands, false);
}

/** Help of one command, or the list of those below one word. */
export function commandsHelp(word: string, commands: readonly CliCommand[], all: boolean): string {
  if (commands.length === 1) return commandHelp(commands[0]!, all);
  const width = Math.max(...commands.map((command) => command.name.length));
  const rows = commands.map((command) => `  vf ${command.name.padEnd(width)}  ${command.about}`);
  return [
    `usage: vf ${word} WORD [flags]`,
    '',
    ...rows,
    '',
    `vf ${word} WORD --help shows its flags`,
    '',
  ].join('\n');
}

/** Help of one command; rare flags only with `all`. */
export function commandHelp(command: CliCommand, all: boolean): string {
  const lines: string[] = command.examples.map((example) => `  $ ${example}`);
  const places = (command.arguments ?? []).map(({ name, optional, many }) => {
    const form = many === true ? `${name}…` : name;
    return optional === true ? `[${form}]` : form;
  });
  lines.push('', `usage: vf ${[command.name, ...places, '[flags]'].join(' ')}`);
  lines.push(...fold(command.about, ''));
  const rows: Row[] = (command.arguments ?? []).map(({ name, help }) => ({ left: `  ${name}`, right: help }));
  if (rows.length > 0) lines.push('', ...layOut(rows));
  lines.push(...optionLines(command.options, all));
  if (command.notes !== undefined) lines.push('', command.notes);
  if ('preset' in command.options) lines.push('', 'presets', ...presetLines(command.name));
  const hidden = Object.values(command.options).filter((option) => option.rare === true).length;
  if (!all && hidden > 0) lines.push('', `${hidden} rarer flags: vf ${command.name} --help-all`);
  return lines.join('\n') + '\n';
}

interface Row {
  left: string;
  right: string;
}

function optionLines(options: OptionTable, all: boolean): string[] {
  const lines: string[] = [];
  for (const group of GROUPS) {
    const rows = Object.entries(options)
      .filter(([, option]) => option.group === group && (all || option.rare !== true))
      .map(([name, option]) => ({ left: `  ${flagForm(name, option)}`, right: describe(option) }));
    if (rows.length > 0) lines.push('', group, ...layOut(rows));
  }
  return lines;
}

/** What stands for an option's value in the help: `<tokens>`, `<p|p_mean|logp>`. */
function valueName(option: Option): string {
  if (option.placeholder !== undefined) return `<${option.placeholder}>`;
  if (option.type === 'choice') return `<${option.choices.join('|')}>`;
  if (option.type === 'number' || option.type === 'integer') {
    return option.words === undefined ? '<n>' : `<n|${option.words.join('|')}>`;
  }
  return '<text>';
}

function flagForm(name: string, option: Option): string {
  if (option.type !== 'flag') return `--${name} ${valueName(option)}`;
  return option.default ? `--no-${name}` : `--${name}`;
}

/** Help, default with its unit, and the range where it says more than the type. */
function describe(option: Option): string {
  if (option.type === 'flag') return option.default ? `don't ${option.help}` : option.help;
  const { default: value, unit } = option;
  if (value === null || option.type === 'pairs') return option.help;
  const number = typeof value === 'number' ? shownNumber(value) : value;
  const range = option.type === 'number' || option.type === 'integer' ? numberRange(option) : '';
  const bounded = /above [^0]|below|at least ([2-9]|1\d)|at most/.test(range) ? `; ${range}` : '';
  return `${option.help} (${number}${typeof value === 'number' && unit !== undefined ? ` ${unit}` : ''}${bounded})`;
}

function shownNumber(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : value.toLocaleString('en-US');
}

function presetLines(command: string): string[] {
  const rows = Object.entries(PRESETS)
    .filter(([, preset]) => preset.command === command)
    .map(([name, preset]) => ({ left: `  ${name}`, right: preset.help }));
  return layOut(rows);
}

/** Two columns; a left part too long for its column stands on a line of its own. */
function layOut(rows: readonly Row[]): string[] {
  const column = Math.min(34, Math.max(...rows.map(({ left }) => left.length)) + 2);
  return rows.flatMap(({ left, right }) => {
    const folded = fold(right, ' '.repeat(column));
    if (left.length + 2 > column) return [left, ...folded];
    return [left.padEnd(column) + folded[0]!.trimStart(), ...folded.slice(1)];
  });
}

function fold(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH && line.trim() !== '') {
      lines.push(line);
      line = indent;
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  lines.push(line);
  return lines;
}
