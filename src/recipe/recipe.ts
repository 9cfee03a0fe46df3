/** Recipe: how a bundled model is made from nothing but this repository, as data for `vf sft`. */

import type { Vocabulary } from './bpe.js';
import type { Row } from './verifree-traces.js';

/** Sizes of a Qwen3 architecture (QK-norm, tied head); the vocabulary comes from the tokenizer. */
export interface Shape {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffn: number;
  ropeTheta: number;
  maxPositions: number;
}

/** One stretch of supervised training; phases run in order on the same optimizer-free weights (moments start at 0). */
export interface Phase {
  name: string;
  rows: Row[];
  /** Rows an update; rows are taken in order, once. */
  batch: number;
  /** Peak rate: linear warm-up, then cosine down to `finalShare` of it. */
  lr: number;
  warmupSteps: number;
  finalShare: number;
  betas: [number, number];
  weightDecay: number;
  clipNorm: number;
  /** The tokens that carry loss. */
  lossOn: 'all' | 'completion';
}

export interface Recipe {
  name: string;
  /** The bundled model whose weights this one goes on from; null: random weights. */
  from: 'tiny-t3rl' | null;
  shape: Shape;
  initialization: Initialization;
  /** Contents of the model's vf.json: how it is spoken to. */
  vf: Record<string, unknown>;
  /** The same for every seed, so that models of one recipe share their ids. */
  vocabulary(): Vocabulary;
  phases(seed: number): Phase[];
}

/** Normal initialization: embeddings with their own deviation, matrices with 1/sqrt(fan-in), those that end a block scaled. */
export interface Initialization {
  embeddingStd: number;
  /** Factor on the attention and MLP output projections. */
  outputScale: number;
}
