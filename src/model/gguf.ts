/**
 * A model folder as one GGUF file (version 3, f32), the format of llama.cpp: what `vf bench` and the peer tests run there.
 * The file holds no text of tokens: the peer is given ids and gives ids back.
 */

import { open } from 'node:fs/promises';
import { VfError } from '../errors.js';
import type { ModelSpec, TensorSource } from '../native/types.js';

/** Field types of the format. */
const TYPE = { u32: 4, i32: 5, f32: 6, string: 8, array: 9 } as const;

/** Every tensor's data begins at a multiple of this. */
const ALIGNMENT = 32;

const LAYER_NAMES: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'self_attn.o_proj': 'attn_output',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

const OUTER_NAMES: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
};

interface Entry {
  name: string;
  /** Row-major, as in the model folder; the file states it innermost first. */
  shape: number[];
  read(): Promise<Buffer>;
}

/** Writes the file. @throws VfError VF_UNSUPPORTED_MODEL for weights that are not stored in f32. */
export async function writeGguf(
  model: { spec: ModelSpec; tensors: readonly TensorSource[] },
  file: string,
): Promise<void> {
  const { spec } = model;
  const entries = model.tensors.map((tensor) => entryOf(tensor, spec));
  const factors = ropeFactors(spec);
  if (factors) {
    const data = Buffer.from(Float32Array.from(factors).buffer);
    entries.push({ name: 'rope_freqs.weight', shape: [factors.length], read: async () => data });
  }
  const handle = await open(file, 'w');
  try {
    await handle.writeFile(headerOf(spec, entries));
    for (const entry of entries) {
      const data = await entry.read();
      await handle.writeFile(data);
      await handle.writeFile(Buffer.alloc(padding(data.length)));
    }
  } finally {
    await handle.close();
  }
}

/** `model.layers.3.self_attn.q_proj.weight` → `blk.3.attn_q.weight`. */
function ggufName(name: string): string {
  const outer = OUTER_NAMES[name];
  if (outer !== undefined) return outer;
  const [, layer, part, kind] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  const inner = part === undefined ? undefined : LAYER_NAMES[part];
  if (inner === undefined) throw new VfError('VF_UNSUPPORTED_MODEL', `${name} has no name in a GGUF file`);
  return `blk.${layer}.${inner}.${kind}`;
}

function entryOf(tensor: TensorSource, spec: ModelSpec): Entry {
  const { name, shape, file, offset, dtype } = tensor;
  if (dtype !== 'f32') {
    throw new VfError(
      'VF_UNSUPPORTED_MODEL',
      `Expected f32 weights for a GGUF file but ${name} is ${dtype}`,
      {
        file,
        hint: 'write the model in f32 first: `vf model export MODEL --dtype f32 --out FOLDER`',
      },
    );
  }
  const bytes = shape.reduce((a, b) => a * b, 4);
  return {
    name: ggufName(name),
    shape,
    read: async () => {
      const data = Buffer.alloc(bytes);
      const handle = await open(file, 'r');
      try {
        await handle.read(data, 0, bytes, offset);
      } finally {
        await handle.close();
      }
      return spec.family === 'llama' && /\.[qk]_proj\./.test(name)
        ? interleaved(data, shape[0]!, spec.headDim)
        : data;
    },
  };
}

/**
 * Rows of q or k in the order of llama.cpp's `llama` architecture, which rotates the pairs (2i, 2i + 1) of a head where
 * the Hugging Face layout rotates (i, i + headDim / 2). @param rows heads times headDim.
 */
function interleaved(data: Buffer, rows: number, headDim: number): Buffer {
  const out = Buffer.alloc(data.length);
  const bytes = data.length / rows;
  for (let row = 0; row < rows; row++) {
    const i = row % headDim;
    const from = row - i + (i % 2) * (headDim / 2) + Math.floor(i / 2);
    data.copy(out, row * bytes, from * bytes, (from + 1) * bytes);
  }
  return out;
}

/** Divisors of the rotation frequencies under llama3 scaling, [headDim / 2]; undefined for the other kinds. */
function ropeFactors({ headDim, ropeTheta, ropeScaling }: ModelSpec): number[] | undefined {
  if (ropeScaling.kind !== 'llama3') return undefined;
  const { factor, lowFreqFactor, highFreqFactor, originalPositions } = ropeScaling;
  return Array.from({ length: headDim / 2 }, (_, i) => {
    const turns = originalPositions / (2 * Math.PI * ropeTheta ** ((2 * i) / headDim));
    if (turns > highFreqFactor) return 1;
    if (turns < lowFreqFactor) return factor;
    const smooth = (turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

function headerOf(spec: ModelSpec, entries: readonly Entry[]): Buffer {
  const fields = fieldsOf(spec);
  const infos: Buffer[] = [];
  let at = 0;
  for (const { name, shape } of entries) {
    infos.push(text(name), u32(shape.length), ...[...shape].reverse().map(u64), u32(0), u64(at));
    const bytes = shape.reduce((a, b) => a * b, 4);
    at += bytes + padding(bytes);
  }
  const counts = [u64(entries.length), u64(fields.length)];
  const header = Buffer.concat([Buffer.from('GGUF'), u32(3), ...counts, ...fields, ...infos]);
  return Buffer.concat([header, Buffer.alloc(padding(header.length))]);
}

function fieldsOf(spec: ModelSpec): Buffer[] {
  const own = (key: string) => `${spec.family}.${key}`;
  const whole = (key: string, value: number) => field(key, TYPE.u32, u32(value));
  const real = (key: string, value: number) => field(key, TYPE.f32, f32(value));
  const words = (key: string, value: string) => field(key, TYPE.string, text(value));
  const { ropeScaling } = spec;
  return [
    words('general.architecture', spec.family),
    whole('general.alignment', ALIGNMENT),
    whole('general.file_type', 0),
    whole(own('vocab_size'), spec.vocab),
    whole(own('context_length'), spec.maxPositions),
    whole(own('embedding_length'), spec.hidden),
    whole(own('block_count'), spec.layers),
    whole(own('feed_forward_length'), spec.ffn),
    whole(own('attention.head_count'), spec.heads),
    whole(own('attention.head_count_kv'), spec.kvHeads),
    whole(own('attention.key_length'), spec.headDim),
    whole(own('attention.value_length'), spec.headDim),
    real(own('attention.layer_norm_rms_epsilon'), spec.rmsEps),
    whole(own('rope.dimension_count'), spec.headDim),
    real(own('rope.freq_base'), spec.ropeTheta),
    ...(ropeScaling.kind === 'linear'
      ? [words(own('rope.scaling.type'), 'linear'), real(own('rope.scaling.factor'), ropeScaling.factor)]
      : []),
    ...vocabularyFields(spec.vocab),
  ];
}

/** A vocabulary of made-up texts, since a file without one is refused: the peer never gets text. */
function vocabularyFields(size: number): Buffer[] {
  const ids = Array.from({ length: size }, (_, id) => id);
  const list = (key: string, type: number, items: Buffer[]) =>
    field(key, TYPE.array, Buffer.concat([u32(type), u64(items.length), ...items]));
  return [
    field('tokenizer.ggml.model', TYPE.string, text('gpt2')),
    field('tokenizer.ggml.pre', TYPE.string, text('default')),
    list(
      'tokenizer.ggml.tokens',
      TYPE.string,
      ids.map((id) => text(`t${id}`)),
    ),
    list(
      'tokenizer.ggml.token_type',
      TYPE.i32,
      ids.map(() => u32(1)),
    ),
    list('tokenizer.ggml.merges', TYPE.string, []),
  ];
}

function field(key: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([text(key), u32(type), value]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value);
  return out;
}

function u64(value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}

function f32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeFloatLE(value);
  return out;
}

function padding(bytes: number): number {
  return (ALIGNMENT - (bytes % ALIGNMENT)) % ALIGNMENT;
}
