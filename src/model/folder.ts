/** Hugging Face model folders: config, weights checked by name and shape, and what else a model says of itself. */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { VfError } from '../errors.js';
import type { LoadArgs, ModelSpec, TensorDtype, TensorSource } from '../native/types.js';
import { idList, parseConfig } from './config.js';
import { type JsonObject, readJsonObject } from './json.js';
import { type Parameter, parameterList } from './parameters.js';
import { readWeightHeaders, type StoredTensor } from './shards.js';

const DTYPES: Record<string, TensorDtype> = { F32: 'f32', F16: 'f16', BF16: 'bf16' };

/** Buffers that old checkpoints carry beside their parameters; they are computed from the config. */
const KNOWN_BUFFER = /\.rotary_emb\.inv_freq$|\.attn\.(masked_)?bias$/;

export interface ModelFolder {
  /** Where it was read from; resolveModelPath of src/run finds it for a run or a checkpoint. */
  folder: string;
  spec: ModelSpec;
  /** One a parameter, in the order of parameterList. */
  tensors: TensorSource[];
  config: JsonObject;
  /** Union of config.json's and generation_config.json's, ascending. The tokenizer's own is added by loadModelFolder. */
  eosIds: number[];
  bosId: number | undefined;
  /** Contents of vf.json (template, border, patch); empty when there is none. */
  vf: JsonObject;
  /** Names that share another tensor's bytes: the tied head. */
  aliases: Record<string, string>;
  /** Things a reader should know, one sentence each. */
  notes: string[];
}

/** What a tokenizer must offer for a model to be loaded with it; src/text/tokenizer is one. */
export interface TokenTable {
  readonly eosId: number | undefined;
  vocabulary(rows: number): Pick<LoadArgs, 'tokenBytes' | 'tokenOffsets' | 'usableVocab'>;
}

export type LoadedFolder<T extends TokenTable> = ModelFolder &
  Pick<LoadArgs, 'spec' | 'tensors' | 'tokenBytes' | 'tokenOffsets' | 'usableVocab'> & { tokenizer: T };

/**
 * Everything that the engine's `load` needs from a folder but for device, dtype and threads.
 * @param open makes the folder's tokenizer (openTokenizer of src/text/tokenizer).
 */
export async function loadModelFolder<T extends TokenTable>(
  folder: string,
  open: (folder: string) => Promise<T>,
): Promise<LoadedFolder<T>> {
  const model = await readModelFolder(folder);
  const tokenizer = await open(model.folder);
  const own = tokenizer.eosId === undefined ? [] : [tokenizer.eosId];
  const eosIds = ascending([...model.eosIds, ...own]);
  return { ...model, ...tokenizer.vocabulary(model.spec.vocab), eosIds, tokenizer };
}

/** Reads a folder's config and weight headers and checks every tensor by name, type and shape; reads no weights. */
export async function readModelFolder(folder: string): Promise<ModelFolder> {
  const configFile = join(folder, 'config.json');
  const config = await readJsonObject(configFile);
  if (config === undefined) {
    throw new VfError('VF_MODEL_FILE', `Expected config.json in ${folder} but found none`, {
      file: folder,
      hint: 'name a run, a checkpoint, or a folder with config.json, tokenizer.json and *.safetensors',
    });
  }
  const { spec, eosIds, bosId, notes } = parseConfig(config, configFile);
  const stored = await readWeightHeaders(folder);
  const aliases: Record<string, string> = {};
  if (spec.tied) {
    aliases['lm_head.weight'] = 'model.embed_tokens.weight';
    notes.push(...(await redundantHead(stored, folder)));
  }
  const tensors = matchParameters(parameterList(spec), stored, folder, notes);
  const generation = (await readJsonObject(join(folder, 'generation_config.json'))) ?? {};
  const vf = (await readJsonObject(join(folder, 'vf.json'))) ?? {};
  return {
    folder,
    spec,
    tensors,
    config,
    eosIds: ascending([...eosIds, ...idList(generation.eos_token_id)]),
    bosId,
    vf,
    aliases,
    notes,
  };
}

function matchParameters(
  parameters: Parameter[],
  stored: Map<string, StoredTensor>,
  folder: string,
  notes: string[],
): TensorSource[] {
  const missing = parameters.filter(({ name }) => !stored.has(name)).map(({ name }) => name);
  const known = new Set(parameters.map(({ name }) => name));
  const others = [...stored.keys()].filter((name) => !known.has(name));
  const extra = others.filter((name) => !KNOWN_BUFFER.test(name));
  if (missing.length > 0) throw mismatch(folder, `${missing.length} tensors are missing: ${listed(missing)}`);
  if (extra.length > 0)
    throw mismatch(folder, `${extra.length} tensors are unknown to the config: ${listed(extra)}`);
  if (others.length > 0) notes.push(`${others.length} stored buffers are not used: ${listed(others)}`);
  return parameters.map(({ name, shape }) => {
    const tensor = stored.get(name) as StoredTensor;
    if (tensor.shape.join() !== shape.join()) {
      throw mismatch(folder, `tensor ${name} has shape [${tensor.shape}], the config says [${shape}]`);
    }
    const dtype = DTYPES[tensor.dtype];
    if (dtype === undefined)
      throw mismatch(folder, `tensor ${name} is ${tensor.dtype}, expected F32, F16 or BF16`);
    return { name, kind: 'weight', file: tensor.file, offset: tensor.offset, dtype, shape };
  });
}

/** A tied model may hold its head again; it must then be the same numbers, and one copy serves. */
async function redundantHead(stored: Map<string, StoredTensor>, folder: string): Promise<string[]> {
  const head = stored.get('lm_head.weight');
  const embedding = stored.get('model.embed_tokens.weight');
  if (!head || !embedding) return [];
  const same =
    head.dtype === embedding.dtype &&
    head.bytes === embedding.bytes &&
    (await digest(head)) === (await digest(embedding));
  if (!same) {
    throw mismatch(
      folder,
      'config.json ties the head to the embedding, but lm_head.weight differs from model.embed_tokens.weight',
      'set tie_word_embeddings to false in config.json if the stored head is the right one',
    );
  }
  stored.delete('lm_head.weight');
  return ['lm_head.weight repeats model.embed_tokens.weight (tied); one copy is used and saved'];
}

async function digest({ file, offset, bytes }: StoredTensor): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(file, 'r');
  try {
    if (bytes > 0) {
      for await (const chunk of handle.createReadStream({
        start: offset,
        end: offset + bytes - 1,
        autoClose: false,
      })) {
        hash.update(chunk as Buffer);
      }
    }
  } finally {
    await handle.close();
  }
  return hash.digest('hex');
}

function mismatch(folder: string, what: string, hint?: string): VfError {
  return new VfError('VF_MODEL_WEIGHTS', `${what} (${basename(folder) || dirname(folder)})`, {
    file: folder,
    hint: hint ?? 'config.json and the weight files must come from the same model',
  });
}

function listed(names: string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

function ascending(ids: number[]): number[] {
  return [...new Set(ids)].sort((a, b) => a - b);
}
