/** Saves one checkpoint after another into the run given as argument, until it is killed. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { saveCheckpoint } from '../../src/run/checkpoint.js';
import { safetensors } from './safetensors.js';

const run = process.argv[2]!;
for (let step = 1; ; step++) {
  const write = async (folder: string) => {
    writeFileSync(path.join(folder, 'model.safetensors'), safetensors(new Uint8Array(200_000).fill(step)));
  };
  await saveCheckpoint({ run, step, lengths: () => ({}), state: { step }, write, keep: 1 });
  if (step === 2) process.stdout.write('saving\n');
}
