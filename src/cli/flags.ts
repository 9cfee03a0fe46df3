/** From option tables to command lines: parses the words after a command with commander. */

import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { camelCase, type Option, type OptionTable } from '../config/option.js';
import { nearest, VfError } from '../errors.js';
import type { Argument, Call, CliCommand } from './command.js';

/** Parses `words` for `command`. @throws VF_USAGE (exit code 2) on anything it doesn't know. */
export function parseCall(command: CliCommand, words: readonly string[]): Call {
  const parser = new Command(`vf ${command.name}`);
  parser
    .exitOverride()
    .helpOption(false)
    .configureOutput({ writeErr: () => {}, outputError: () => {} });
  parser.showSuggestionAfterError(false).action(() => {});
  for (const argument of command.arguments ?? []) parser.argument(argumentForm(argument));
  for (const [name, option] of Object.entries(command.options)) addOption(parser, name, option);
  try {
    parser.parse(words as string[], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw usageError(command, error);
    throw error;
  }
  const flags: Record<string, unknown> = {};
  for (const name of Object.keys(command.options)) {
    const value = parser.getOptionValue(camelCase(name));
    if (value !== undefined) flags[name] = value;
  }
  return { args: parser.args, flags };
}

function argumentForm({ name, optional, many }: Argument): string {
  const inner = many === true ? `${name}...` : name;
  return optional === true ? `[${inner}]` : `<${inner}>`;
}

function addOption(parser: Command, name: string, option: Option): void {
  if (option.type === 'flag') {
    parser.addOption(new CommanderOption(`--${name}`));
    if (option.transient !== true) parser.addOption(new CommanderOption(`--no-${name}`));
    return;
  }
  const added = new CommanderOption(`--${name} <value>`);
  if (option.type === 'pairs') {
    added.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  }
  parser.addOption(added);
}

function usageError(command: CliCommand, error: CommanderError): VfError {
  const message = error.message.replace(/^error: /, '');
  const help = `\`vf ${command.name} --help\` shows how it is used`;
  if (error.code !== 'commander.unknownOption') return new VfError('VF_USAGE', message, { hint: help });
  const given = /'--?([^'=]*)/.exec(message)?.[1] ?? '';
  const near = nearest(given, flagNames(command.options));
  const hint = near === undefined ? help : `did you mean --${near}?`;
  return new VfError('VF_USAGE', `unknown flag --${given} for vf ${command.name}`, { hint });
}

function flagNames(options: OptionTable): string[] {
  return [...Object.keys(options), 'help', 'help-all'];
}
