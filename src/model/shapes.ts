/** Model shapes that `vf model init` knows, as the config.json that a folder of that shape has. */

import type { JsonObject } from './json.js';

export const SHAPE_NAMES = ['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b', 'qwen3-8b', 'tiny', 'A', 'B'] as const;
export type ShapeName = (typeof SHAPE_NAMES)[number];

interface Sizes {
  hidden: number;
  ffn: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  tied: boolean;
}

const QWEN3_SIZES: Record<Exclude<ShapeName, 'tiny' | 'A' | 'B'>, Sizes> = {
  'qwen3-0.6b': { hidden: 1024, ffn: 3072, layers: 28, heads: 16, kvHeads: 8, headDim: 128, tied: true },
  'qwen3-1.7b': { hidden: 2048, ffn: 6144, layers: 28, heads: 16, kvHeads: 8, headDim: 128, tied: true },
  'qwen3-4b': { hidden: 2560, ffn: 9728, layers: 36, heads: 32, kvHeads: 8, headDim: 128, tied: true },
  'qwen3-8b': { hidden: 4096, ffn: 12288, layers: 36, heads: 32, kvHeads: 8, headDim: 128, tied: false },
};

/** tiny: the bundled models' architecture. A and B: the shapes of the speed tables. */
const SMALL_SIZES: Record<'tiny' | 'A' | 'B', Sizes> = {
  tiny: { hidden: 96, ffn: 256, layers: 4, heads: 4, kvHeads: 4, headDim: 24, tied: true },
  A: { hidden: 256, ffn: 1024, layers: 6, heads: 8, kvHeads: 4, headDim: 32, tied: true },
  B: { hidden: 512, ffn: 2048, layers: 8, heads: 8, kvHeads: 4, headDim: 64, tied: true },
};

/** Rows of the Qwen3 models' embedding, above the 151,669 ids of their tokenizer. */
const QWEN3_VOCAB = 151936;

/** config.json of a shape. @param vocab rows of the embedding; undefined takes the shape's own (4096 for the small ones). */
export function shapeConfig(shape: ShapeName, vocab: number | undefined, dtype: 'f32' | 'bf16'): JsonObject {
  const large = shape in QWEN3_SIZES;
  const sizes = { ...QWEN3_SIZES, ...SMALL_SIZES }[shape];
  return {
    architectures: ['Qwen3ForCausalLM'],
    attention_bias: false,
    attention_dropout: 0,
    ...(large ? { bos_token_id: 151643, eos_token_id: 151643 } : {}),
    head_dim: sizes.headDim,
    hidden_act: 'silu',
    hidden_size: sizes.hidden,
    intermediate_size: sizes.ffn,
    max_position_embeddings: large ? 32768 : 4096,
    model_type: 'qwen3',
    num_attention_heads: sizes.heads,
    num_hidden_layers: sizes.layers,
    num_key_value_heads: sizes.kvHeads,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: large ? 1000000 : 10000,
    tie_word_embeddings: sizes.tied,
    torch_dtype: dtype === 'f32' ? 'float32' : 'bfloat16',
    use_sliding_window: false,
    vocab_size: vocab ?? (large ? QWEN3_VOCAB : 4096),
  };
}
