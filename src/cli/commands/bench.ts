/** `vf bench`: speed of training, decoding and a whole step on this machine, and test-time runs over seeds. */

import { resolveConfig } from '../../config/resolve.js';
import { COMMAND_OPTIONS } from '../../config/schema.js';
import { invalidValue } from '../../errors.js';
import type { CliCommand } from '../command.js';

const WORKS = ['train', 'decode', 'rl-step'] as const;

const bench: CliCommand = {
  name: 'bench',
  about:
    'Speed on this machine, with random weights; the record states every length it used. verifree and ttrl are tables of bundled runs instead.',
  arguments: [{ name: 'WORK', help: 'train, decode, rl-step, verifree or ttrl' }],
  examples: [
    'vf bench train --shape A',
    'vf bench decode --shape B --json',
    'vf bench verifree --seeds 1,2,3',
    'vf bench ttrl --omegas 1,2,5,10,inf --seeds 0',
  ],
  options: COMMAND_OPTIONS.bench,
  run: async ({ args, flags }) => {
    const work = WORKS.find((name) => name === args[0]);
    const table = args[0] === 'ttrl' || args[0] === 'verifree';
    if (work === undefined && !table)
      throw invalidValue('WORK', `one of ${WORKS.join(', ')}, verifree, ttrl`, args[0]);
    const { settings } = resolveConfig('bench', { flags, env: process.env });
    if (args[0] === 'verifree') {
      const { benchVerifree } = await import('../bench-verifree.js');
      await benchVerifree(settings);
      return;
    }
    if (work === undefined) {
      const { benchTtrl } = await import('../bench-ttrl.js');
      await benchTtrl(settings);
      return;
    }
    const { runBench } = await import('../bench-run.js');
    await runBench(work, settings);
  },
};

export const commands = [bench];
