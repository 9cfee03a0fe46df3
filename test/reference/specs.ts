/** Random tiny models of the three families, with sizes that are multiples of nothing convenient. */

import type { ModelSpec } from '../../src/native/types.js';
import { type ReferenceModel, randomWeights } from './parameters.js';
import { seeded } from './seeded.js';

const PLAIN = {
  layers: 2,
  rmsEps: 1e-6,
  ropeTheta: 10000,
  ropeScaling: { kind: 'none' },
  maxPositions: 256,
} as const;

/** The shapes of the family tests; llama3 scaling is set so that all three of its bands occur. */
export const TINY_SPECS = {
  qwen3: {
    ...PLAIN,
    family: 'qwen3',
    hidden: 20,
    heads: 4,
    kvHeads: 2,
    headDim: 8,
    ffn: 28,
    vocab: 37,
    ropeTheta: 1000000,
    qkNorm: true,
    qkvBias: false,
    tied: true,
  },
  qwen2: {
    ...PLAIN,
    family: 'qwen2',
    hidden: 30,
    heads: 3,
    kvHeads: 1,
    headDim: 10,
    ffn: 44,
    vocab: 53,
    qkNorm: false,
    qkvBias: true,
    tied: false,
  },
  llama: {
    ...PLAIN,
    family: 'llama',
    hidden: 36,
    heads: 6,
    kvHeads: 3,
    headDim: 24,
    ffn: 50,
    vocab: 61,
    rmsEps: 1e-5,
    ropeScaling: { kind: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalPositions: 64 },
    qkNorm: false,
    qkvBias: false,
    tied: false,
  },
} as const satisfies Record<string, ModelSpec>;

/** A model with random f32 weights; the last `unusable` rows of the embedding are padding. */
export function randomModel(spec: ModelSpec, seed: number, unusable = 0): ReferenceModel {
  return { spec, usableVocab: spec.vocab - unusable, weights: randomWeights(spec, seeded(seed)) };
}
