/** The weight files of a model folder: one model.safetensors, or the shards that its index names. */

import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { VfError } from '../errors.js';
import { isObject, readJsonObject } from './json.js';
import { type HeaderTensor, readSafetensorsHeader } from './safetensors.js';

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

export interface StoredTensor extends HeaderTensor {
  file: string;
}

/** Every tensor of the folder's weight files, by name. Missing shards are all listed before any weight is read. */
export async function readWeightHeaders(folder: string): Promise<Map<string, StoredTensor>> {
  if (await exists(join(folder, SINGLE))) return collect(folder, [SINGLE], undefined);
  const indexFile = join(folder, INDEX);
  const index = await readJsonObject(indexFile);
  if (index === undefined) throw await noWeights(folder);
  const weightMap = isObject(index.weight_map) ? index.weight_map : {};
  const named = new Map<string, string>();
  for (const [tensor, shard] of Object.entries(weightMap)) {
    if (typeof shard !== 'string' || shard !== basename(shard) || shard === '' || shard === '..') {
      throw indexError(indexFile, `it places ${tensor} in ${JSON.stringify(shard)}, not in a file beside it`);
    }
    named.set(tensor, shard);
  }
  const shards = [...new Set(named.values())].sort();
  if (shards.length === 0) throw indexError(indexFile, 'its weight_map is empty');
  const present = await Promise.all(shards.map((shard) => exists(join(folder, shard))));
  const missing = shards.filter((_, i) => !present[i]);
  if (missing.length > 0) {
    throw indexError(
      indexFile,
      `${missing.length} of its ${shards.length} shards are not there: ${missing.join(', ')}`,
    );
  }
  return collect(folder, shards, named);
}

async function collect(
  folder: string,
  shards: string[],
  named: Map<string, string> | undefined,
): Promise<Map<string, StoredTensor>> {
  const all = new Map<string, StoredTensor>();
  for (const shard of shards) {
    const file = join(folder, shard);
    for (const tensor of (await readSafetensorsHeader(file)).tensors) {
      const before = all.get(tensor.name);
      if (before) {
        throw new VfError(
          'VF_SAFETENSORS',
          `tensor ${tensor.name} stands twice: in ${basename(before.file)} and ${shard}`,
          { file },
        );
      }
      if (named && named.get(tensor.name) !== shard) {
        const place = named.get(tensor.name) ?? 'no file';
        throw indexError(
          join(folder, INDEX),
          `${shard} holds ${tensor.name}, which the index places in ${place}`,
        );
      }
      all.set(tensor.name, { ...tensor, file });
    }
  }
  for (const [tensor, shard] of named ?? []) {
    if (!all.has(tensor)) {
      throw indexError(join(folder, INDEX), `it places ${tensor} in ${shard}, which does not hold it`);
    }
  }
  return all;
}

async function noWeights(folder: string): Promise<VfError> {
  const pickled = await exists(join(folder, 'pytorch_model.bin'));
  return new VfError('VF_MODEL_FILE', `Expected ${SINGLE} or ${INDEX} in ${folder} but found neither`, {
    file: folder,
    hint: pickled
      ? 'the folder has pytorch_model.bin; save the model again as safetensors'
      : 'name a folder with config.json, tokenizer.json and *.safetensors',
  });
}

function indexError(file: string, what: string): VfError {
  return new VfError('VF_SAFETENSORS', `file ${basename(file)}: ${what}`, {
    file,
    hint: 'copy or download the missing or changed files again',
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
