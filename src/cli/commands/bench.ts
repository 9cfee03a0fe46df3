/** `vf bench`: speed of training, decoding and a whole step on this machine. */

import { resolveConfig } from '../../config/resolve.js';
import { COMMAND_OPTIONS } from '../../config/schema.js';
import { invalidValue } from '../../errors.js';
import type { CliCommand } from '../command.js';

const WORKS = ['train', 'decode', 'rl-step'] as const;

const bench: CliCommand = {
  name: 'bench',
  about: 'Speed on this machine, with random weights; the record states every length it used.',
  arguments: [{ name: 'WORK', help: 'train, decode or rl-step' }],
  examples: ['vf bench train --shape A', 'vf bench decode --shape B --json'],
  options: COMMAND_OPTIONS.bench,
  run: async ({ args, flags }) => {
    const work = WORKS.find((name) => name === args[0]);
    if (work === undefined) throw invalidValue('WORK', `one of ${WORKS.join(', ')}`, args[0]);
    const { settings } = resolveConfig('bench', { flags, env: process.env });
    const { runBench } = await import('../bench-run.js');
    await runBench(work, settings);
  },
};

export const commands = [bench];
