/** Resolves a command's settings: defaults < preset < file < VF_* < flags, remembering where each value came from. */

import { nearest, VfError } from '../errors.js';
import { type FileSetting, readSettingsFile } from './file.js';
import { camelCase, envName, type Option, type OptionTable, type Settings, type Value } from './option.js';
import { IMPLIED_PRESET, PRESETS, type Preset } from './presets.js';
import { throwProblems } from './problems.js';
import { checkRules } from './rules.js';
import { COMMAND_OPTIONS, type CommandName, type CommandSettings } from './schema.js';
import { readValue } from './value.js';

export interface ConfigInput {
  /** By flag name, as typed; only those the user gave. */
  flags: Readonly<Record<string, unknown>>;
  env: Readonly<Record<string, string | undefined>>;
  /** Values of the run to be continued (its config.yaml): the base instead of the defaults. */
  stored?: Readonly<Record<string, unknown>> | undefined;
}

export interface Resolved<C extends CommandName> {
  command: C;
  settings: CommandSettings<C>;
  /** By flag name, in the table's order. */
  values: Readonly<Record<string, Value>>;
  /** `default`, `preset tiny`, `run.yaml:3`, `VF_LR`, `--lr`, `run` (stored) or `rule` (derived). */
  origins: Readonly<Record<string, string>>;
  preset: string | null;
}

interface State {
  table: OptionTable;
  values: Record<string, Value>;
  origins: Record<string, string>;
  problems: VfError[];
}

/** @throws every problem of the configuration at once (exit code 2). */
export function resolveConfig<C extends CommandName>(command: C, input: ConfigInput): Resolved<C> {
  const { state, preset } = gather(command, input);
  if (state.problems.length === 0) state.problems.push(...checkRules(command, state.values, state.origins));
  throwProblems(state.problems);
  const entries = Object.entries(state.values).map(([name, value]) => [camelCase(name), value]);
  const settings = Object.fromEntries(entries) as CommandSettings<C>;
  return { command, settings, values: state.values, origins: state.origins, preset };
}

/** The settings about this call alone, read before a run's folder is known. Problems wait for resolveConfig. */
export function callOptions(
  command: CommandName,
  input: ConfigInput,
): { out: string | null; resume: boolean; force: boolean } {
  const { out, resume, force } = gather(command, input).state.values;
  return { out: (out ?? null) as string | null, resume: resume === true, force: force === true };
}

/** The names of a command's settings that are about one call only. */
export function transientNames(command: CommandName): ReadonlySet<string> {
  const table: OptionTable = COMMAND_OPTIONS[command];
  return new Set(Object.keys(table).filter((name) => table[name]!.transient === true));
}

function gather(command: CommandName, input: ConfigInput): { state: State; preset: string | null } {
  const table: OptionTable = COMMAND_OPTIONS[command];
  const state: State = { table, values: {}, origins: {}, problems: [] };
  for (const [name, option] of Object.entries(table)) set(state, name, option.default, 'default');
  const file = fileSettings(command, input, state);
  const preset = choosePreset(command, input, file, state);
  if (preset !== null) {
    const { values } = PRESETS[preset]!;
    for (const [name, value] of Object.entries(values)) set(state, name, value, `preset ${preset}`);
  }
  const base = applyStored(state, input.stored);
  for (const setting of file) applyFile(state, setting);
  applyEnvironment(state, input.env);
  applyFlags(state, input.flags);
  if (preset !== null) checkRequired(PRESETS[preset]!, preset, state);
  if (base !== null) checkAgainstStored(state, base);
  return { state, preset };
}

function set(state: State, name: string, value: Value, origin: string): void {
  state.values[name] = value;
  state.origins[name] = origin;
}

/** What `name` is given as by flag or environment, before anything is checked. */
function given(input: ConfigInput, name: string): string | undefined {
  const raw = input.flags[name] ?? input.env[envName(name)];
  return raw === undefined || raw === '' ? undefined : String(raw);
}

function fileSettings(command: CommandName, input: ConfigInput, state: State): FileSetting[] {
  const path = 'config' in state.table ? given(input, 'config') : undefined;
  if (path === undefined) return [];
  const { settings, problems } = readSettingsFile(path);
  state.problems.push(...problems);
  return settings.filter((setting) => {
    const problem = refuseKey(command, setting, state.table);
    if (problem !== null) state.problems.push(problem);
    return problem === null;
  });
}

function refuseKey(command: CommandName, setting: FileSetting, table: OptionTable): VfError | null {
  const { name, file, line, column, text } = setting;
  const place = { file, line, column, text };
  const option = table[name];
  if (name === 'preset') return null;
  if (option?.transient === true && option.inFile !== true) {
    const hint = `remove the line and give it on the command line: --${name}`;
    return new VfError('VF_CONFIG_KEY', `"${name}" is a flag, not a setting`, { ...place, hint });
  }
  if (option !== undefined) return null;
  const other = Object.entries(COMMAND_OPTIONS).find(([, options]) => name in options);
  if (other !== undefined) {
    const message = `"${name}" is a setting of vf ${other[0]}, not of vf ${command}`;
    return new VfError('VF_CONFIG_KEY', message, { ...place, hint: 'remove the line' });
  }
  const near = nearest(name, Object.keys(table));
  const hint = near === undefined ? `vf ${command} --help-all lists the keys` : `did you mean "${near}"?`;
  return new VfError('VF_CONFIG_KEY', `unknown key "${name}" in ${file}`, { ...place, hint });
}

function choosePreset(
  command: CommandName,
  input: ConfigInput,
  file: FileSetting[],
  state: State,
): string | null {
  if (!('preset' in state.table)) return null;
  const names = Object.keys(PRESETS).filter((name) => PRESETS[name]!.command === command);
  const line = file.find((setting) => setting.name === 'preset');
  const name = given(input, 'preset') ?? (line === undefined ? undefined : String(line.raw));
  if (name === undefined) {
    const hasModel = given(input, 'model') !== undefined || file.some(({ name: key }) => key === 'model');
    return hasModel || input.stored !== undefined ? null : (IMPLIED_PRESET[command] ?? null);
  }
  if (names.includes(name)) return name;
  const near = nearest(name, names);
  const hint = near === undefined ? `vf ${command} has ${names.join(', ')}` : `did you mean "${near}"?`;
  const fromLine = line !== undefined && given(input, 'preset') === undefined;
  const place = fromLine ? { file: line.file, line: line.line, column: line.column, text: line.text } : {};
  const message = `vf ${command} has no preset "${name}"`;
  state.problems.push(new VfError('VF_CONFIG_PRESET', message, { ...place, hint }));
  return null;
}

function checkRequired(preset: Preset, name: string, state: State): void {
  const missing = preset.requires.filter((key) => state.origins[key] === 'default');
  if (missing.length === 0) return;
  const flags = missing.map((key) => (key === 'model' ? '--model PATH' : '--data FILE'));
  const message = `preset ${name} (${preset.help}) needs ${missing.join(' and ')}`;
  state.problems.push(
    new VfError('VF_CONFIG_PRESET', message, { hint: `add ${flags.join(' ')}, or use another preset` }),
  );
}

function applyFile(state: State, setting: FileSetting): void {
  const { name, raw, file, line, column, text } = setting;
  const option = state.table[name];
  if (name === 'preset' || option === undefined) return;
  const read = readValue(option, raw, { name, fromText: false, file, line, column, hint: undefined });
  if ('value' in read) set(state, name, read.value, `${file}:${line}`);
  else state.problems.push(placed(read.problem, text));
}

function placed(problem: VfError, text: string): VfError {
  const { hint, expected, place } = problem;
  return new VfError(problem.code, problem.message, { ...place, text, hint, expected });
}

function applyEnvironment(state: State, env: ConfigInput['env']): void {
  for (const [name, option] of Object.entries(state.table)) {
    const raw = env[envName(name)];
    if (raw !== undefined && raw !== '') applyText(state, name, option, raw, envName(name));
  }
}

function applyFlags(state: State, flags: ConfigInput['flags']): void {
  for (const [name, option] of Object.entries(state.table)) {
    if (flags[name] !== undefined) applyText(state, name, option, flags[name], `--${name}`);
  }
}

function applyText(state: State, name: string, option: Option, raw: unknown, origin: string): void {
  const read = readValue(option, raw, { name: origin, fromText: true });
  if ('value' in read) set(state, name, read.value, origin);
  else state.problems.push(read.problem);
}

/** Puts the stored values in place; returns them for the comparison once the given ones are known. */
function applyStored(state: State, stored: ConfigInput['stored']): Record<string, Value> | null {
  if (stored === undefined) return null;
  const base: Record<string, Value> = {};
  for (const [name, raw] of Object.entries(stored)) {
    const option = state.table[name];
    if (option === undefined || option.transient === true) continue;
    const read = readValue(option, raw, { name, fromText: false });
    if ('problem' in read) {
      state.problems.push(read.problem);
      continue;
    }
    base[name] = read.value;
    set(state, name, read.value, 'run');
  }
  return base;
}

/** A continued run must be the run it was: only its length and its schedule of saving may change (DESIGN §6). */
function checkAgainstStored(state: State, base: Record<string, Value>): void {
  for (const [name, option] of Object.entries(state.table)) {
    const before = base[name];
    const now = state.values[name]!;
    if (before === undefined || JSON.stringify(before) === JSON.stringify(now)) continue;
    const constant = state.values['lr-schedule'] === 'constant';
    if (option.onResume === 'free' || (option.onResume === 'constant' && constant)) continue;
    const origin = state.origins[name]!;
    const why = option.onResume === 'constant' ? ' under a schedule that depends on it' : '';
    const message = `the run has ${name} ${shown(before)}, ${origin} says ${shown(now)}: a resumed run can't change it${why}`;
    const hint = `leave ${name} out to continue the run, or start a new one without --resume`;
    state.problems.push(new VfError('VF_RESUME_DIFFERS', message, { hint }));
  }
}

function shown(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Settings of a small command with options of its own: defaults < VF_* < flags. @throws every problem at once. */
export function resolveTable<T extends OptionTable>(
  table: T,
  input: Pick<ConfigInput, 'flags' | 'env'>,
): Settings<T> {
  const state: State = { table, values: {}, origins: {}, problems: [] };
  for (const [name, option] of Object.entries(table)) set(state, name, option.default, 'default');
  applyEnvironment(state, input.env);
  applyFlags(state, input.flags);
  throwProblems(state.problems);
  const entries = Object.entries(state.values).map(([name, value]) => [camelCase(name), value]);
  return Object.fromEntries(entries) as Settings<T>;
}
