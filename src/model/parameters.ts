/** The parameters a ModelSpec has, by Hugging Face name and shape, in the one order that loading and saving use. */

import type { ModelSpec } from '../native/types.js';

export interface Parameter {
  name: string;
  /** Row-major, [out, in] for projections. */
  shape: number[];
}

/** Every parameter of the model; the head is absent when tied to the embedding. */
export function parameterList(spec: ModelSpec): Parameter[] {
  const list: Parameter[] = [{ name: 'model.embed_tokens.weight', shape: [spec.vocab, spec.hidden] }];
  for (let layer = 0; layer < spec.layers; layer++) list.push(...layerParameters(spec, layer));
  list.push({ name: 'model.norm.weight', shape: [spec.hidden] });
  if (!spec.tied) list.push({ name: 'lm_head.weight', shape: [spec.vocab, spec.hidden] });
  return list;
}

/** Numbers in all parameters together. */
export function parameterCount(spec: ModelSpec): number {
  return parameterList(spec).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

function layerParameters(spec: ModelSpec, layer: number): Parameter[] {
  const { hidden, ffn, headDim } = spec;
  const q = spec.heads * headDim;
  const kv = spec.kvHeads * headDim;
  const rows: [string, ...number[]][] = [
    ['input_layernorm.weight', hidden],
    ['self_attn.q_proj.weight', q, hidden],
    ['self_attn.k_proj.weight', kv, hidden],
    ['self_attn.v_proj.weight', kv, hidden],
  ];
  if (spec.qkvBias) {
    rows.push(['self_attn.q_proj.bias', q], ['self_attn.k_proj.bias', kv], ['self_attn.v_proj.bias', kv]);
  }
  if (spec.qkNorm) rows.push(['self_attn.q_norm.weight', headDim], ['self_attn.k_norm.weight', headDim]);
  rows.push(
    ['self_attn.o_proj.weight', hidden, q],
    ['post_attention_layernorm.weight', hidden],
    ['mlp.gate_proj.weight', ffn, hidden],
    ['mlp.up_proj.weight', ffn, hidden],
    ['mlp.down_proj.weight', hidden, ffn],
  );
  return rows.map(([name, ...shape]) => ({ name: `model.layers.${layer}.${name}`, shape }));
}
