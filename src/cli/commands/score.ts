/** `vf score FILE`: log-probabilities of given tokens, by the training forward. */

import { resolveConfig } from '../../config/resolve.js';
import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';

const score: CliCommand = {
  name: 'score',
  about: 'Log-probabilities of given token ids or texts, by the forward pass that training uses.',
  arguments: [
    { name: 'FILE', help: 'JSONL rows {"ids": […], "from": n} or {"prompt": "…", "completion": "…"}' },
  ],
  examples: ['vf score rows.jsonl --model PATH > scores.jsonl', 'vf score rows.jsonl | jq .logprob'],
  options: COMMAND_OPTIONS.score,
  run: async ({ args, flags }) => {
    const { settings } = resolveConfig('score', { flags, env: process.env });
    const { runScore } = await import('../score-run.js');
    await runScore(args[0]!, settings);
  },
};

export const commands = [score];
