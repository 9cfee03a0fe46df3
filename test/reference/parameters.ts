/** The parameters of a model under their Hugging Face names, as float64. */

import type { ModelSpec } from '../../src/native/types.js';
import { normals, type Seeded } from './seeded.js';

export type Weights = Map<string, Float64Array>;

/** Spec and weights; ids at or above `usableVocab` are outside every softmax. */
export interface ReferenceModel {
  spec: ModelSpec;
  usableVocab: number;
  weights: Weights;
}

/** Every tensor of the model with its shape, in the order of the layers. */
export function parameterShapes(spec: ModelSpec): Map<string, number[]> {
  const shapes = new Map<string, number[]>([['model.embed_tokens.weight', [spec.vocab, spec.hidden]]]);
  const q = spec.heads * spec.headDim;
  const kv = spec.kvHeads * spec.headDim;
  for (let i = 0; i < spec.layers; i++) {
    const layer = `model.layers.${i}.`;
    shapes.set(`${layer}input_layernorm.weight`, [spec.hidden]);
    for (const [name, out] of [
      ['q', q],
      ['k', kv],
      ['v', kv],
    ] as const) {
      shapes.set(`${layer}self_attn.${name}_proj.weight`, [out, spec.hidden]);
      if (spec.qkvBias) shapes.set(`${layer}self_attn.${name}_proj.bias`, [out]);
    }
    if (spec.qkNorm) {
      shapes.set(`${layer}self_attn.q_norm.weight`, [spec.headDim]);
      shapes.set(`${layer}self_attn.k_norm.weight`, [spec.headDim]);
    }
    shapes.set(`${layer}self_attn.o_proj.weight`, [spec.hidden, q]);
    shapes.set(`${layer}post_attention_layernorm.weight`, [spec.hidden]);
    shapes.set(`${layer}mlp.gate_proj.weight`, [spec.ffn, spec.hidden]);
    shapes.set(`${layer}mlp.up_proj.weight`, [spec.ffn, spec.hidden]);
    shapes.set(`${layer}mlp.down_proj.weight`, [spec.hidden, spec.ffn]);
  }
  shapes.set('model.norm.weight', [spec.hidden]);
  if (!spec.tied) shapes.set('lm_head.weight', [spec.vocab, spec.hidden]);
  return shapes;
}

/** Random weights, rounded to f32 so that a stored checkpoint holds the same numbers. */
export function randomWeights(spec: ModelSpec, random: Seeded): Weights {
  const weights: Weights = new Map();
  for (const [name, shape] of parameterShapes(spec)) {
    const count = shape.reduce((a, b) => a * b, 1);
    const norm = name.includes('norm');
    const scale = norm ? 0.2 : shape.length === 1 ? 0.3 : 1 / Math.sqrt(shape[1]!);
    weights.set(
      name,
      normals(random, count, name.includes('embed') ? 0.5 : scale, norm ? 1 : 0).map(Math.fround),
    );
  }
  return weights;
}

/** Zeros of the same names and sizes. */
export function zerosLike(weights: Weights): Weights {
  return new Map([...weights].map(([name, tensor]) => [name, new Float64Array(tensor.length)]));
}

/** The tensor of that name; a missing one is a fault of the test. */
export function tensorOf(weights: Weights, name: string): Float64Array {
  const tensor = weights.get(name);
  if (tensor === undefined) throw new Error(`The reference model has no tensor ${name}`);
  return tensor;
}
