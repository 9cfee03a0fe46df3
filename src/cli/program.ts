/** The commands of `vf`, found by name and loaded one at a time. */

import { nearest, VfError } from '../errors.js';
import type { CliCommand, CommandModule } from './command.js';

interface Row {
  name: string;
  /** For `vf --help`. */
  about: string;
  load: () => Promise<CommandModule>;
}

interface Section {
  title: string;
  rows: readonly Row[];
}

/** Sections of `vf --help`, in the order shown. */
export const SECTIONS: readonly Section[] = [
  {
    title: 'train and adapt',
    rows: [
      { name: 'train', about: 'VeriFree on your questions', load: () => import('./commands/train.js') },
      {
        name: 'ttrl',
        about: 'test-time RL on unlabeled questions',
        load: () => import('./commands/ttrl.js'),
      },
      { name: 'sft', about: 'supervised warm-up', load: () => import('./commands/sft.js') },
    ],
  },
  {
    title: 'measure',
    rows: [
      { name: 'eval', about: 'benchmarks', load: () => import('./commands/eval.js') },
      {
        name: 'sample',
        about: 'replies of a model to a question',
        load: () => import('./commands/sample.js'),
      },
      {
        name: 'score',
        about: 'log-probabilities of given tokens',
        load: () => import('./commands/score.js'),
      },
      { name: 'bench', about: 'speed on this machine', load: () => import('./commands/bench.js') },
    ],
  },
  {
    title: 'look and mend',
    rows: [
      { name: 'runs', about: 'list, show and compare runs', load: () => import('./commands/runs.js') },
      { name: 'data', about: 'filter, stats, patch, convert', load: () => import('./commands/data.js') },
      { name: 'model', about: 'init, info, export', load: () => import('./commands/model.js') },
      { name: 'doctor', about: 'what this machine can do', load: () => import('./commands/doctor.js') },
      { name: 'build', about: 'build the native addon', load: () => import('./commands/build.js') },
    ],
  },
];

export interface Found {
  command: CliCommand;
  /** The words after the command's own. */
  rest: string[];
}

/** The command that `argv` begins with. @throws VF_USAGE for an unknown one, with the nearest name. */
export async function findCommand(argv: readonly string[]): Promise<Found> {
  const commands = await loadCommands(argv[0]!);
  if (commands.length === 1 && !commands[0]!.name.includes(' ')) {
    return { command: commands[0]!, rest: argv.slice(1) };
  }
  const below = commands.map((command) => command.name.split(' ')[1]!);
  const word = argv[1];
  const index = below.indexOf(word ?? '');
  if (index >= 0) return { command: commands[index]!, rest: argv.slice(2) };
  const near = word === undefined ? undefined : nearest(word, below);
  const list = `vf ${argv[0]} has ${below.join(', ')}`;
  const message =
    word === undefined || word.startsWith('-')
      ? `vf ${argv[0]} needs a word that says what to do`
      : `unknown command "${argv[0]} ${word}"`;
  const hint = near === undefined ? list : `did you mean \`vf ${argv[0]} ${near}\`?`;
  throw new VfError('VF_USAGE', message, { hint });
}

/** All commands under the word `name`. */
export async function loadCommands(name: string): Promise<readonly CliCommand[]> {
  const rows = SECTIONS.flatMap((section) => section.rows);
  const row = rows.find((candidate) => candidate.name === name);
  if (row !== undefined) return (await row.load()).commands;
  const near = nearest(name, [...rows.map((candidate) => candidate.name), 'help']);
  const hint = near === undefined ? '`vf --help` lists the commands' : `did you mean \`vf ${near}\`?`;
  throw new VfError('VF_USAGE', `unknown command "${name}"`, { hint });
}
