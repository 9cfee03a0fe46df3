/** Hash of a model's weights and config: what a manifest and a resumed run compare. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** SHA-256 over the names and bytes of config.json and every weight file of a folder, as hex. */
export async function modelHash(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const names = (await readdir(folder)).filter(
    (name) => name === 'config.json' || (name.endsWith('.safetensors') && name !== 'trainer.safetensors'),
  );
  for (const name of names.sort()) {
    hash.update(`${name}\0`);
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}
