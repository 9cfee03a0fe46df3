/** The ops of native/ops/ops.h, and on which device and in which number format each of them runs. */

import type { NativeAddon } from './types.js';

/** In the order of the contract. */
export const OP_NAMES = [
  'embed',
  'embed_backward',
  'rmsnorm',
  'rmsnorm_backward',
  'matmul',
  'matmul_input_grad',
  'matmul_weight_grad',
  'qkv',
  'qkv_backward',
  'attention',
  'attention_backward',
  'swiglu',
  'swiglu_backward',
  'gather_rows',
  'scatter_rows',
  'logprob',
  'logprob_loss',
  'policy_weights',
  'adamw',
  'squared_norm',
  'sample',
] as const;
export type OpName = (typeof OP_NAMES)[number];

/** Ops whose products are in bf16 when a policy asks for it; all others are f32 in both. */
const BF16_PRODUCTS: Record<'cpu' | 'cuda', readonly OpName[]> = {
  cpu: ['matmul', 'matmul_input_grad', 'matmul_weight_grad', 'logprob', 'logprob_loss'],
  cuda: [
    'matmul',
    'matmul_input_grad',
    'matmul_weight_grad',
    'attention',
    'attention_backward',
    'logprob',
    'logprob_loss',
  ],
};

/** One cell of the table: an op on a device in a format, and what stands for its numbers. */
export interface OpRow {
  op: OpName;
  device: 'cpu' | 'cuda';
  dtype: 'f32' | 'bf16';
  /** `f32 inside`: asked for in bf16, this op keeps f32. `no`: this build or machine can't run it. */
  state: 'reference' | 'parity' | 'f32 inside' | 'no';
}

/** Every op × device × format. `parity`: held against the reference by native/test (through the CPU shim in CI). */
export function opTable({ cpu, cuda }: Pick<NativeAddon, 'cpu' | 'cuda'>): OpRow[] {
  const rows: OpRow[] = [];
  for (const op of OP_NAMES) {
    for (const device of ['cpu', 'cuda'] as const) {
      for (const dtype of ['f32', 'bf16'] as const) {
        const runs = device === 'cpu' ? dtype === 'f32' || cpu.bf16 : cuda.compiled;
        const inside = dtype === 'bf16' && !BF16_PRODUCTS[device].includes(op);
        const known = device === 'cpu' && dtype === 'f32' ? 'reference' : 'parity';
        rows.push({ op, device, dtype, state: !runs ? 'no' : inside ? 'f32 inside' : known });
      }
    }
  }
  return rows;
}
