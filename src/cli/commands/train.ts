/** `vf train`: VeriFree reinforcement learning. */

import { envName } from '../../config/option.js';
import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';
import { runJob, runWithoutFolder } from '../job.js';

const train: CliCommand = {
  name: 'train',
  about:
    'VeriFree: sample traces, append the reference answer, and reinforce what makes the reference likely. With no flags it trains the bundled tiny model.',
  examples: ['vf train', 'vf train --model PATH --data questions.jsonl --preset verifree-1.7b'],
  options: COMMAND_OPTIONS.train,
  streams: true,
  run: async (call) => {
    const estimate = call.flags.estimate ?? process.env[envName('estimate')] ?? 'false';
    if (estimate !== 'false') return (await import('../estimate-run.js')).runEstimate(call);
    const work = () => import('../train-run.js');
    const probe = call.flags.probe ?? process.env[envName('probe')] ?? '0';
    await (probe === '0'
      ? runJob('train', call, async (job) => (await work()).runTrain(job))
      : runWithoutFolder('train', call, async (job) => (await work()).runProbe(job)));
  },
};

export const commands = [train];
