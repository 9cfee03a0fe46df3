/** `vf eval TASK…`: benchmarks; `rescore` and `compare` work on stored replies. */

import { COMMAND_OPTIONS } from '../../config/schema.js';
import type { CliCommand } from '../command.js';
import { runJob } from '../job.js';

const evaluate: CliCommand = {
  name: 'eval',
  about:
    'Benchmarks: every reply is kept in the run folder and judged there. `vf eval rescore FILE` judges stored replies again, `vf eval compare A B` compares two runs question by question.',
  arguments: [
    {
      name: 'TASK',
      help: 'bundled, knights, jsonl, mmlu-pro, supergpqa, gpqa-diamond, gpqa-main, gpqa-extended, math-500, olympiadbench, minerva, gsm8k, amc, aime24, bbh:TASK',
      optional: true,
      many: true,
    },
  ],
  examples: [
    'vf eval bundled --model runs/train-1201-2146-7f3a',
    'vf eval gsm8k --data test.jsonl --limit 64',
    'vf eval rescore runs/eval-1201-2146-7f3a --compat lm-eval',
  ],
  options: COMMAND_OPTIONS.eval,
  streams: true,
  run: async (call) => {
    const [word, ...files] = call.args;
    if (word === 'rescore') return (await import('../eval-stored.js')).rescoreEval(files, call.flags);
    if (word === 'compare') return (await import('../eval-stored.js')).compareEvals(files, call.flags);
    const flags = call.args.length === 0 ? call.flags : { ...call.flags, tasks: call.args.join(',') };
    await runJob('eval', { ...call, flags }, async (job) => (await import('../eval-run.js')).runEval(job));
  },
};

export const commands = [evaluate];
