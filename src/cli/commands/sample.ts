/** `vf sample`: replies of a model to one question. */

import { resolveConfig } from '../../config/resolve.js';
import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';

const sample: CliCommand = {
  name: 'sample',
  about: 'Replies of a model to one question, in the template it was trained with.',
  examples: [
    'vf sample --prompt "Tom has 3 boxes of 4 pens. How many pens?"',
    'vf sample --model runs/train-1201-2146-7f3a --prompt "…" --reference 12 --samples 8',
  ],
  options: COMMAND_OPTIONS.sample,
  run: async ({ flags }) => {
    const { settings } = resolveConfig('sample', { flags, env: process.env });
    const { runSample } = await import('../sample-run.js');
    await runSample(settings);
  },
};

export const commands = [sample];
