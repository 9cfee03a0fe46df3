/** Writes a reference model as a Hugging Face folder: config.json, model.safetensors in f32, a minimal tokenizer. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelSpec } from '../../src/native/types.js';
import { scratch } from '../scratch.js';
import { parameterShapes, type ReferenceModel, tensorOf } from './parameters.js';

const CLASSES = { qwen3: 'Qwen3ForCausalLM', qwen2: 'Qwen2ForCausalLM', llama: 'LlamaForCausalLM' } as const;

/** Writes the model to a temporary folder (gone when the process ends); `tokens` are the texts of its usable ids, ASCII. */
export function writeCheckpoint(model: ReferenceModel, tokens = plainTokens(model.usableVocab)): string {
  const folder = scratch(model.spec.family);
  const json = (name: string, value: unknown) =>
    writeFileSync(join(folder, name), JSON.stringify(value, null, 2));
  json('config.json', configOf(model.spec));
  json('tokenizer.json', tokenizerOf(tokens));
  json('tokenizer_config.json', { tokenizer_class: 'PreTrainedTokenizerFast', add_bos_token: false });
  writeFileSync(join(folder, 'model.safetensors'), safetensorsOf(model));
  return folder;
}

/** Texts `a`, `b`, …, `z`, then `aa`, `ab`, …: one a usable id. */
export function plainTokens(count: number): string[] {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  return Array.from({ length: count }, (_, id) => {
    let text = '';
    for (let rest = id; rest >= 0; rest = Math.floor(rest / 26) - 1) text = letters[rest % 26] + text;
    return text;
  });
}

function configOf(spec: ModelSpec): Record<string, unknown> {
  return {
    architectures: [CLASSES[spec.family]],
    model_type: spec.family,
    hidden_size: spec.hidden,
    num_hidden_layers: spec.layers,
    num_attention_heads: spec.heads,
    num_key_value_heads: spec.kvHeads,
    head_dim: spec.headDim,
    intermediate_size: spec.ffn,
    vocab_size: spec.vocab,
    rms_norm_eps: spec.rmsEps,
    rope_theta: spec.ropeTheta,
    rope_scaling: scalingOf(spec.ropeScaling),
    tie_word_embeddings: spec.tied,
    max_position_embeddings: spec.maxPositions,
    attention_bias: false,
    hidden_act: 'silu',
    torch_dtype: 'float32',
  };
}

function scalingOf(scaling: ModelSpec['ropeScaling']): unknown {
  if (scaling.kind === 'none') return null;
  if (scaling.kind === 'linear') return { rope_type: 'linear', factor: scaling.factor };
  return {
    rope_type: 'llama3',
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalPositions,
  };
}

/** Byte-level BPE without merges; ASCII without blanks is its own byte-level spelling. */
function tokenizerOf(tokens: readonly string[]): unknown {
  return {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((text, id) => [text, id])),
      merges: [],
    },
  };
}

function safetensorsOf(model: ReferenceModel): Buffer {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  const parts: Buffer[] = [];
  let at = 0;
  for (const [name, shape] of parameterShapes(model.spec)) {
    const data = Buffer.from(Float32Array.from(tensorOf(model.weights, name)).buffer);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + data.length] };
    parts.push(data);
    at += data.length;
  }
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([length, padded, ...parts]);
}
