/** How much memory a policy needs, before anything is loaded: the engine's own buffers, counted from a model's shape. */

import type { ModelSpec } from '../native/types.js';
import { parameterCount, parameterList } from './parameters.js';

const F32 = 4;
const BF16 = 2;
/** Keys and values in the store are padded to a multiple of this (native/ops/ops.h). */
const VALUE_LANES = 16;
/** Key-value memory that one sampling call takes at most (native/model/generate.cpp). */
const CACHE_BUDGET = 4e9;
/** A chunk of logits (native/cuda/logprob.cu, native/cpu/logprob.cpp). */
const LOGITS_BYTES = { cuda: 256 * 2 ** 20, cpu: 32 * 2 ** 20 } as const;

/** What decides the memory of a policy. Token counts are per sequence but for microBatchTokens. */
export interface MemoryNeeds {
  spec: ModelSpec;
  device: 'cpu' | 'cuda';
  dtype: 'f32' | 'bf16';
  /** Rows of a forward and backward pass. */
  microBatchTokens: number;
  /** Sequences decoded together. */
  maxBatch: number;
  promptTokens: number;
  maxTokens: number;
  recompute: boolean;
  trainable: boolean;
}

/** One line of the plan. `during`: all the time, or only in one phase; the larger phase counts. */
export interface MemoryRow {
  name: string;
  bytes: number;
  during: 'always' | 'sampling' | 'training';
}

export interface MemoryPlan {
  rows: MemoryRow[];
  /** Bytes at the peak: what is always there and the larger of the two phases. */
  total: number;
}

/** The memory plan of one policy on one device, in bytes; fragmentation and the driver's own share are not in it. */
export function memoryPlan(needs: MemoryNeeds): MemoryPlan {
  const parameters = parameterCount(needs.spec);
  const rows: MemoryRow[] = [
    { name: 'weights (f32)', bytes: F32 * parameters, during: 'always' },
    ...(needs.trainable
      ? [
          { name: 'gradients (f32)', bytes: F32 * parameters, during: 'always' as const },
          { name: 'AdamW moments (f32)', bytes: 2 * F32 * parameters, during: 'always' as const },
        ]
      : []),
    { name: productCopies(needs).name, bytes: productCopies(needs).bytes, during: 'always' },
    { name: 'keys and values', bytes: cacheBytes(needs), during: 'sampling' },
    ...(needs.trainable ? trainingRows(needs) : []),
    { name: 'logits of a chunk', bytes: LOGITS_BYTES[needs.device], during: 'always' },
  ];
  const sum = (during: MemoryRow['during']) =>
    rows.filter((row) => row.during === during).reduce((total, row) => total + row.bytes, 0);
  return { rows, total: sum('always') + Math.max(sum('sampling'), sum('training')) };
}

/** The largest halving of a training micro-batch that fits, with and without recompute; null where none does. */
export function whatFits(
  needs: MemoryNeeds,
  deviceBytes: number,
): Pick<MemoryNeeds, 'microBatchTokens' | 'recompute'> | null {
  for (const recompute of needs.recompute ? [true] : [false, true]) {
    for (let tokens = needs.microBatchTokens; tokens >= 256; tokens = Math.floor(tokens / 2)) {
      if (memoryPlan({ ...needs, microBatchTokens: tokens, recompute }).total <= deviceBytes) {
        return { microBatchTokens: tokens, recompute };
      }
    }
  }
  return null;
}

/** Matrices are multiplied from copies: bf16 ones, or on the CPU panels of the same size as the weights. */
function productCopies({ spec, device, dtype }: MemoryNeeds): { name: string; bytes: number } {
  const matrices = parameterList(spec)
    .filter(({ shape, name }) => shape.length === 2 && (spec.tied || !name.includes('embed_tokens')))
    .reduce((sum, { shape }) => sum + shape[0]! * shape[1]!, 0);
  if (dtype === 'bf16') return { name: 'weights for products (bf16)', bytes: BF16 * matrices };
  return { name: 'weights for products (f32)', bytes: device === 'cpu' ? F32 * matrices : 0 };
}

/** Bytes of an element of the key-value store (Ops::kv_element_bytes). */
function storeElement(device: MemoryNeeds['device'], dtype: MemoryNeeds['dtype']): number {
  return device === 'cuda' && dtype === 'bf16' ? BF16 : F32;
}

function keyValueElements({ kvHeads, headDim }: ModelSpec): number {
  return kvHeads * (headDim + Math.ceil(headDim / VALUE_LANES) * VALUE_LANES);
}

function cacheBytes({ spec, device, dtype, maxBatch, promptTokens, maxTokens }: MemoryNeeds): number {
  const token = storeElement(device, dtype) * spec.layers * keyValueElements(spec);
  const longest = token * (promptTokens + maxTokens);
  return Math.max(longest, Math.min(maxBatch * longest, CACHE_BUDGET));
}

function trainingRows({ spec, device, dtype, microBatchTokens, recompute }: MemoryNeeds): MemoryRow[] {
  const { hidden, ffn, heads, headDim, kvHeads, layers } = spec;
  const q = heads * headDim;
  const qkv = q + 2 * kvHeads * headDim;
  const row =
    F32 * (3 * hidden + 2 + qkv + 2 * q + heads + 3 * ffn) +
    storeElement(device, dtype) * keyValueElements(spec);
  const input = F32 * hidden;
  const kept = recompute ? layers * input + row + input : layers * (row + input);
  const backward = 3 * ffn + 3 * hidden + 2 * q + qkv + keyValueElements(spec);
  return [
    {
      name: recompute ? 'layer inputs, one layer in full' : 'activations of all layers',
      bytes: microBatchTokens * kept,
      during: 'training',
    },
    { name: 'gradients of activations', bytes: F32 * microBatchTokens * backward, during: 'training' },
  ];
}
