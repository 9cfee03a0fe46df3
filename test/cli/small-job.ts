/** A train job whose work is to emit steps: `small-job.ts STEPS MS_PER_STEP [flags]`. Fails at step 3 with FAIL=1. */

import { setTimeout as sleep } from 'node:timers/promises';
import { commands } from '../../src/cli/commands/train.js';
import { failureExitCode, formatFailure } from '../../src/cli/failure.js';
import { parseCall } from '../../src/cli/flags.js';
import { runJob } from '../../src/cli/job.js';
import { guardPipes, writeErr } from '../../src/cli/output.js';
import { VfError } from '../../src/errors.js';

const [steps, pause, ...words] = process.argv.slice(2);

guardPipes();
async function work(): Promise<void> {
  await runJob('train', parseCall(commands[0]!, words), async ({ emit, interrupt, store }) => {
    const total = Number(steps);
    const { folder } = store;
    emit({
      event: 'start',
      command: 'train',
      version: '0',
      device: 'cpu',
      banner: [],
      settings: {},
      folder,
      steps: total,
    });
    let step = 0;
    while (step < total && interrupt.requested === null) {
      step++;
      await sleep(Number(pause));
      if (process.env.FAIL === '1' && step === 3) {
        throw new VfError('VF_NOT_FINITE', 'loss became NaN', { exitCode: 1, hint: 'lower --lr' });
      }
      emit({ event: 'step', step, metrics: { 'reward/mean': step / 10 } });
    }
    return { steps: step, next: ['npx vf sample'] };
  });
}

try {
  await work();
} catch (error) {
  process.exitCode = failureExitCode(error);
  writeErr(formatFailure(error, false));
}
