/** Hashes of a model's weights and of its tokenizer: what a manifest keeps and a resumed run compares. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The files that say which text is which ids; chat_template.jinja says how a conversation becomes text. */
const TOKENIZER_FILES: ReadonlySet<string> = new Set([
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
]);

/** SHA-256 over the names and bytes of config.json and every weight file of a folder, as hex. */
export function modelHash(folder: string): Promise<string> {
  return hashOf(
    folder,
    (name) => name === 'config.json' || (name.endsWith('.safetensors') && name !== 'trainer.safetensors'),
  );
}

/** SHA-256 over the names and bytes of a folder's tokenizer files, as hex; a checkpoint's is its start model's. */
export function tokenizerHash(folder: string): Promise<string> {
  return hashOf(folder, (name) => TOKENIZER_FILES.has(name));
}

async function hashOf(folder: string, counts: (name: string) => boolean): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).filter(counts).sort()) {
    hash.update(`${name}\0`);
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}
