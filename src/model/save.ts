/** Writes a policy as a Hugging Face folder, and its optimizer state beside it. */

import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelSpec, SaveArgs, TensorSource } from '../native/types.js';
import { parameterList } from './parameters.js';
import { composeSafetensorsHeader, readSafetensorsHeader } from './safetensors.js';

/** What is needed of a policy to save it; src/native/policy is one. */
export interface Savable {
  save(args: SaveArgs): Promise<void>;
}

/** Files of a model folder that are not weights: copied byte for byte. */
export const COMPANIONS =
  /^(generation_config\.json|tokenizer.*|special_tokens_map\.json|added_tokens\.json|vocab\.json|merges\.txt|chat_template\..*|vf\.json|LICENSE.*)$/;

/**
 * Writes model.safetensors, config.json and the tokenizer's files into `to` (made when missing).
 * @param source folder that the model came from: config and tokenizer are taken from there.
 * @param dtype type of the stored weights; config.json says the same.
 */
export async function saveModelFolder(
  policy: Savable,
  spec: ModelSpec,
  source: string,
  to: string,
  dtype: 'f32' | 'bf16',
): Promise<void> {
  await mkdir(to, { recursive: true });
  const tensors = parameterList(spec).map(({ name, shape }) => ({ name, shape, dtype }));
  await policy.save({
    file: join(to, 'model.safetensors'),
    header: composeSafetensorsHeader(tensors),
    tensors: tensors.map(({ name }) => ({ name, kind: 'weight', dtype })),
  });
  for (const name of await readdir(source)) {
    if (COMPANIONS.test(name)) await copyFile(join(source, name), join(to, name));
  }
  await writeFile(join(to, 'config.json'), await configFor(join(source, 'config.json'), dtype));
}

/** The config's own bytes, unless its stored type has to change. */
async function configFor(file: string, dtype: 'f32' | 'bf16'): Promise<string> {
  const text = await readFile(file, 'utf8');
  const config = JSON.parse(text) as Record<string, unknown>;
  const stored = dtype === 'f32' ? 'float32' : 'bfloat16';
  const key = 'dtype' in config && !('torch_dtype' in config) ? 'dtype' : 'torch_dtype';
  if (config[key] === stored) return text;
  return `${JSON.stringify({ ...config, [key]: stored }, null, 2)}\n`;
}

/** Writes the first and second moments of every parameter (names `m.…` and `v.…`), and the f32 masters where asked. */
export async function saveTrainerState(
  policy: Savable,
  spec: ModelSpec,
  file: string,
  masters: boolean,
): Promise<void> {
  const kinds = masters ? (['m', 'v', 'weight'] as const) : (['m', 'v'] as const);
  const tensors = kinds.flatMap((kind) =>
    parameterList(spec).map(({ name, shape }) => ({ name, shape, kind, dtype: 'f32' as const })),
  );
  await policy.save({
    file,
    header: composeSafetensorsHeader(
      tensors.map(({ name, kind, shape, dtype }) => ({ name: `${kind}.${name}`, shape, dtype })),
    ),
    tensors: tensors.map(({ name, kind, dtype }) => ({ name, kind, dtype })),
  });
}

/** Where the moments (and masters) of trainer.safetensors lie, for the engine's `load`. */
export async function readTrainerState(file: string): Promise<TensorSource[]> {
  const { tensors } = await readSafetensorsHeader(file);
  return tensors.map((tensor) => {
    const [kind, ...rest] = tensor.name.split('.');
    return {
      name: rest.join('.'),
      kind: kind as 'm' | 'v' | 'weight',
      file,
      offset: tensor.offset,
      dtype: 'f32',
      shape: tensor.shape,
    };
  });
}
