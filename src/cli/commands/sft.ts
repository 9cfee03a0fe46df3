/** `vf sft`: supervised warm-up. */

import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';
import { runJob } from '../job.js';

const sft: CliCommand = {
  name: 'sft',
  about: 'Supervised warm-up on rows of prompt and completion, with the engine that vf train uses.',
  examples: ['vf sft --model PATH --data rows.jsonl --lr 1e-5', 'vf sft --recipe tiny'],
  options: COMMAND_OPTIONS.sft,
  streams: true,
  run: (call) => runJob('sft', call, async (job) => (await import('../sft-run.js')).runSft(job)),
};

export const commands = [sft];
