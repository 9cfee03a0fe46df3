/** What every run's manifest.json says of its versions, device, model and tokenizer, and what a resume must find unchanged. */

import path from 'node:path';
import { VfError } from '../errors.js';
import { modelHash, tokenizerHash } from '../model/hash.js';
import { RUN_FILES, readJson } from '../run/folder.js';
import type { RunStore } from '../run/store.js';
import type { OpenModel } from './open-model.js';
import { packageVersion } from './package.js';

/** SHA-256 of the files, hex. */
interface ModelHashes {
  model?: string;
  tokenizer?: string;
}

/**
 * Writes the manifest's fields. A run that continues keeps the model it began with and its hashes.
 * @param fields what else the command keeps, such as its data.
 * @throws VF_MODEL_CHANGED when the tokenizer, or the model of a run without checkpoint, is not that of the first start.
 */
export async function writeManifest(
  store: RunStore,
  model: OpenModel,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { folder } = model.folder;
  const before = readJson(path.join(store.folder, RUN_FILES.manifest));
  const known = (before?.hashes ?? {}) as ModelHashes;
  const tokenizer = await tokenizerHash(folder);
  requireSame('tokenizer', folder, known.tokenizer, tokenizer);
  // A checkpoint's weights are not the start model's, and need not be.
  const start = store.resumeFrom === null ? await modelHash(folder) : known.model;
  if (store.resumeFrom === null) requireSame('model', folder, known.model, start);
  store.manifest({
    vf: packageVersion(),
    node: process.version,
    device: model.policy.info,
    model: store.resumeFrom === null ? folder : (before?.model ?? folder),
    hashes: { model: start, tokenizer },
    ...fields,
  });
}

function requireSame(
  what: keyof ModelHashes,
  folder: string,
  known: string | undefined,
  now: string | undefined,
): void {
  if (known === undefined || known === now) return;
  throw new VfError(
    'VF_MODEL_CHANGED',
    `Expected the ${what} in ${folder} to be unchanged but its hash differs`,
    {
      file: folder,
      hint: `put the ${what} of the first start back, or start a new run`,
    },
  );
}
