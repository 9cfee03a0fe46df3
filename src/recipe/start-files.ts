/** The model folder that a recipe's warm-up begins with: random weights, tokenizer and configuration, as bytes. */

import { type Parameter, parameterList } from '../model/parameters.js';
import type { ModelSpec } from '../native/types.js';
import { draw, STREAM } from './draw.js';
import type { Initialization, Recipe, Shape } from './recipe.js';
import { SPECIAL_TOKENS, tokenizerFiles } from './tokenizer-files.js';

/** File name → contents of a folder that any reader of Hugging Face models loads; the weights depend on the seed. */
export function startFiles(recipe: Recipe, seed: number): Record<string, string | Uint8Array> {
  const { shape, initialization, vf } = recipe;
  const vocabulary = recipe.vocabulary();
  const spec = specOf(shape, vocabulary.tokens.length + SPECIAL_TOKENS.length);
  const endOfText = vocabulary.tokens.length + SPECIAL_TOKENS.indexOf('<|endoftext|>');
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  return {
    'config.json': json(configOf(spec, endOfText)),
    'generation_config.json': json({ eos_token_id: endOfText, pad_token_id: endOfText }),
    ...tokenizerFiles(vocabulary),
    'vf.json': json(vf),
    'model.safetensors': weights(spec, initialization, seed),
  };
}

function specOf(shape: Shape, vocab: number): ModelSpec {
  return {
    ...shape,
    family: 'qwen3',
    vocab,
    rmsEps: 1e-6,
    ropeScaling: { kind: 'none' },
    qkNorm: true,
    qkvBias: false,
    tied: true,
  };
}

function configOf(spec: ModelSpec, endOfText: number): Record<string, unknown> {
  return {
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    attention_bias: false,
    attention_dropout: 0,
    bos_token_id: null,
    eos_token_id: endOfText,
    head_dim: spec.headDim,
    hidden_act: 'silu',
    hidden_size: spec.hidden,
    intermediate_size: spec.ffn,
    max_position_embeddings: spec.maxPositions,
    num_attention_heads: spec.heads,
    num_hidden_layers: spec.layers,
    num_key_value_heads: spec.kvHeads,
    rms_norm_eps: spec.rmsEps,
    rope_theta: spec.ropeTheta,
    tie_word_embeddings: true,
    torch_dtype: 'float32',
    use_sliding_window: false,
    vocab_size: spec.vocab,
  };
}

/** A safetensors file in f32. */
function weights(spec: ModelSpec, initialization: Initialization, seed: number): Uint8Array {
  const parameters = parameterList(spec);
  let offset = 0;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const { name, shape } of parameters) {
    const bytes = 4 * sizeOf(shape);
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const text = JSON.stringify(header);
  // Readers map the data in place, so it begins at a multiple of 8.
  const head = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const file = Buffer.alloc(8 + head.length + offset);
  file.writeBigUInt64LE(BigInt(head.length));
  head.copy(file, 8);
  let at = 8 + head.length;
  parameters.forEach((parameter, index) => {
    for (const value of initialValues(parameter, initialization, seed, index)) {
      file.writeFloatLE(value, at);
      at += 4;
    }
  });
  return file;
}

/** Norm weights are 1; the rest is normal by the Box-Muller transform. */
function initialValues(
  { name, shape }: Parameter,
  { embeddingStd, outputScale }: Initialization,
  seed: number,
  index: number,
): number[] {
  const size = sizeOf(shape);
  if (shape.length === 1) return Array.from({ length: size }, () => 1);
  const fanIn = 1 / Math.sqrt(shape[1]!);
  const std = name.includes('embed_tokens')
    ? embeddingStd
    : fanIn * (/o_proj|down_proj/.test(name) ? outputScale : 1);
  const draws = draw(seed, STREAM.weights, index);
  return Array.from({ length: size }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - draws.unit()));
    return std * radius * Math.cos(2 * Math.PI * draws.unit());
  });
}

function sizeOf(shape: number[]): number {
  return shape.reduce((product, side) => product * side, 1);
}
