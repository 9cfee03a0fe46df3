/** Model folders with seeded random weights, written tensor by tensor in constant memory. */

import { copyFile, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VfError } from '../errors.js';
import type { ModelSpec } from '../native/types.js';
import { keyOf, PURPOSE, philox, streamWord } from '../random.js';
import { parseConfig } from './config.js';
import { isObject, readJsonObject } from './json.js';
import { type Parameter, parameterList } from './parameters.js';
import { composeSafetensorsHeader, headerLength } from './safetensors.js';
import { COMPANIONS } from './save.js';
import { type ShapeName, shapeConfig } from './shapes.js';

/** Standard deviations of the normal weights; norms are 1 and biases 0. */
export interface Initialization {
  std: number;
  embeddingStd: number;
  /** Factor on the output and down projections, which write into the residual stream. */
  outputScale: number;
}

/** GPT-2's and Qwen's 0.02 for large shapes; the bundled models' own for tiny. */
export function usualInitialization(shape: ShapeName): Initialization {
  if (shape === 'tiny') return { std: 0.1, embeddingStd: 0.1, outputScale: 0.1 };
  return { std: 0.02, embeddingStd: 0.02, outputScale: 1 };
}

export interface InitOptions {
  shape: ShapeName;
  /** The folder to make; one that holds a model is refused. */
  out: string;
  seed: bigint | number;
  dtype: 'f32' | 'bf16';
  /** A folder whose tokenizer files are copied; its size gives the small shapes their vocabulary. */
  tokenizer?: string | undefined;
  initialization?: Initialization;
  /** Called with the parameters written so far and in all. */
  onProgress?: (done: number, total: number) => void;
}

/** Writes the folder; the same shape, vocabulary and seed give the same numbers (rounded to the stored type). */
export async function initModel(options: InitOptions): Promise<{ spec: ModelSpec; parameters: number }> {
  const { shape, out, dtype, tokenizer } = options;
  const ids = tokenizer === undefined ? undefined : await tokenizerSize(tokenizer);
  const config = shapeConfig(shape, shape.startsWith('qwen3') ? undefined : ids, dtype);
  const { spec } = parseConfig(config, join(out, 'config.json'));
  if (ids !== undefined && ids > spec.vocab) {
    throw new VfError(
      'VF_TOKENIZER',
      `Expected at most ${spec.vocab} token ids for ${shape} but received ${ids}`,
      {
        file: tokenizer,
      },
    );
  }
  await mkdir(out, { recursive: true });
  const present = (await readdir(out)).find(
    (name) => name === 'config.json' || name.endsWith('.safetensors'),
  );
  if (present !== undefined) {
    throw new VfError(
      'VF_MODEL_EXISTS',
      `Expected a folder without a model for --out but ${out} holds ${present}`,
      {
        file: out,
        hint: 'name another folder, or remove this one',
      },
    );
  }
  const parameters = await writeWeights(spec, options);
  if (tokenizer !== undefined) {
    for (const name of await readdir(tokenizer)) {
      if (COMPANIONS.test(name)) await copyFile(join(tokenizer, name), join(out, name));
    }
  }
  await writeFile(join(out, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
  return { spec, parameters };
}

/** One above the highest id of a folder's tokenizer.json. */
async function tokenizerSize(folder: string): Promise<number> {
  const file = join(folder, 'tokenizer.json');
  const json = await readJsonObject(file);
  const vocab = isObject(json?.model) && isObject(json.model.vocab) ? Object.values(json.model.vocab) : [];
  const added = Array.isArray(json?.added_tokens) ? json.added_tokens : [];
  const ids = [...vocab, ...added.map((token: { id?: unknown }) => token.id)].filter(
    (id) => typeof id === 'number',
  );
  if (ids.length === 0) {
    throw new VfError('VF_TOKENIZER', `Expected a vocabulary in ${file} but found none`, { file });
  }
  return 1 + ids.reduce((a, b) => Math.max(a, b), 0);
}

/** Numbers written at a time. */
const CHUNK = 1 << 20;

async function writeWeights(spec: ModelSpec, options: InitOptions): Promise<number> {
  const { out, dtype, onProgress } = options;
  const initialization = options.initialization ?? usualInitialization(options.shape);
  const parameters = parameterList(spec);
  const sizes = parameters.map(({ shape }) => shape.reduce((a, b) => a * b, 1));
  const total = sizes.reduce((a, b) => a + b, 0);
  const partial = join(out, 'model.safetensors.partial');
  const handle = await open(partial, 'w');
  let done = 0;
  try {
    const header = composeSafetensorsHeader(parameters.map(({ name, shape }) => ({ name, shape, dtype })));
    await handle.writeFile(headerLength(header.length));
    await handle.writeFile(header);
    for (const [index, parameter] of parameters.entries()) {
      const size = sizes[index] as number;
      const values = new Float32Array(Math.min(CHUNK, size));
      for (let start = 0; start < size; start += CHUNK) {
        const part = values.subarray(0, Math.min(CHUNK, size - start));
        fillInitial(part, parameter, index, start, options.seed, initialization);
        await handle.writeFile(
          dtype === 'f32' ? new Uint8Array(part.buffer, 0, part.length * 4) : toBf16(part),
        );
        done += part.length;
        onProgress?.(done, total);
      }
    }
    await handle.sync();
  } catch (cause) {
    await rm(partial, { force: true });
    throw cause;
  } finally {
    await handle.close();
  }
  await rename(partial, join(out, 'model.safetensors'));
  return done;
}

function fillInitial(
  values: Float32Array,
  { name, shape }: Parameter,
  index: number,
  start: number,
  seed: bigint | number,
  { std, embeddingStd, outputScale }: Initialization,
): void {
  if (name.endsWith('bias')) values.fill(0);
  else if (shape.length === 1) values.fill(1);
  else {
    const own = /embed_tokens|lm_head/.test(name) ? embeddingStd : std;
    fillNormal(values, own * (/o_proj|down_proj/.test(name) ? outputScale : 1), seed, index, start);
  }
}

/**
 * Normal numbers by Box and Muller's transform, four a Philox block; number i of tensor `index` depends on (seed, index, i)
 * alone. @param start number of values[0] in its tensor, a multiple of 4.
 */
export function fillNormal(
  values: Float32Array,
  std: number,
  seed: bigint | number,
  index: number,
  start: number,
): void {
  const key = keyOf(seed);
  const last = streamWord(PURPOSE.init, index);
  const words = new Uint32Array(4);
  for (let i = 0; i < values.length; i += 4) {
    philox(key, (start + i) / 4, 0, 0, last, words);
    for (let pair = 0; pair < 4; pair += 2) {
      const radius = std * Math.sqrt(-2 * Math.log(((words[pair] as number) + 0.5) / 4294967296));
      const angle = ((words[pair + 1] as number) / 4294967296) * 2 * Math.PI;
      values[i + pair] = radius * Math.cos(angle);
      values[i + pair + 1] = radius * Math.sin(angle);
    }
  }
}

/** Rounds to nearest even; the numbers here are finite. */
function toBf16(values: Float32Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) {
    const word = bits[i] as number;
    out[i] = (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return new Uint8Array(out.buffer);
}
