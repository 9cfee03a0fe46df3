/** Entry of the command line: finds the command, runs it, and turns failures into text and exit codes. */

import { failureExitCode, failureRecord, formatFailure, isDebug } from './failure.js';
import { guardPipes, writeErr, writeOut } from './output.js';
import { packageVersion } from './package.js';

/** Runs `argv` (without node and script) and sets process.exitCode. */
export async function main(argv: readonly string[]): Promise<void> {
  guardPipes();
  const state = { streams: false };
  try {
    await dispatch(argv, state);
  } catch (error) {
    process.exitCode = failureExitCode(error);
    reportFailure(error, wantsJson(argv), state.streams);
  }
}

async function dispatch(argv: readonly string[], state: { streams: boolean }): Promise<void> {
  const [first] = argv;
  if (first === undefined || first === '--help' || first === '-h' || first === '--help-all') {
    const { mainHelp } = await import('./help.js');
    return writeOut(mainHelp(packageVersion()));
  }
  if (first === '--version' || first === '-V') return writeOut(`${packageVersion()}\n`);
  if (first === 'help') {
    const { helpTopic } = await import('./help.js');
    return writeOut(await helpTopic(argv.slice(1), packageVersion()));
  }
  const { findCommand, loadCommands } = await import('./program.js');
  if (asksForHelp(argv)) {
    const { commandsHelp } = await import('./help.js');
    const commands = await loadCommands(first);
    const one = commands.filter((command) => command.name === argv.slice(0, 2).join(' '));
    return writeOut(commandsHelp(first, one.length > 0 ? one : commands, argv.includes('--help-all')));
  }
  const { command, rest } = await findCommand(argv);
  state.streams = command.streams === true;
  const { parseCall } = await import('./flags.js');
  await command.run(parseCall(command, rest));
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const words = end < 0 ? argv : argv.slice(0, end);
  return words.some((word) => word === '--help' || word === '-h' || word === '--help-all');
}

function wantsJson(argv: readonly string[]): boolean {
  return argv.includes('--json') || /^(1|true)$/.test(process.env.VF_JSON ?? '');
}

function reportFailure(error: unknown, json: boolean, streams: boolean): void {
  if (!json || isDebug()) writeErr(formatFailure(error, isDebug()));
  if (!json) return;
  const failure = failureRecord(error);
  const end = {
    v: 1,
    event: 'end',
    run: null,
    time: new Date().toISOString(),
    exitCode: failureExitCode(error),
    summary: {},
    error: failure,
  };
  writeOut(`${JSON.stringify(streams ? end : { error: failure })}\n`);
}
