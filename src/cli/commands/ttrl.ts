/** `vf ttrl`: test-time RL, and T3RL with omega above 1. */

import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';
import { runJob } from '../job.js';

const ttrl: CliCommand = {
  name: 'ttrl',
  about:
    'Test-time RL on unlabeled questions: sample, vote, reward agreement with the vote. With --omega above 1 (T3RL), traces whose answer a program confirms weigh more.',
  examples: ['vf ttrl --omega 5', 'vf ttrl --model PATH --data aime24.jsonl --preset aime24'],
  options: COMMAND_OPTIONS.ttrl,
  streams: true,
  run: (call) => runJob('ttrl', call, async (job) => (await import('../ttrl-run.js')).runTtrl(job)),
};

export const commands = [ttrl];
