/** A reference model inside the real engine, by way of a checkpoint on disk. */

import { loadModelFolder } from '../../src/model/folder.js';
import { Policy } from '../../src/native/policy.js';
import type { LoadArgs, TensorKind } from '../../src/native/types.js';
import { openTokenizer } from '../../src/text/tokenizer.js';
import { writeCheckpoint } from '../reference/checkpoint.js';
import type { ReferenceModel, Weights } from '../reference/parameters.js';

/** Writes the model, loads it on the CPU in f32 and returns the policy; close it when done. */
export async function loadEngine(
  model: ReferenceModel,
  options: Partial<LoadArgs> = {},
  tokens?: string[],
): Promise<Policy> {
  const { spec, tensors, tokenBytes, tokenOffsets, usableVocab } = await loadModelFolder(
    writeCheckpoint(model, tokens),
    openTokenizer,
  );
  return Policy.load({
    spec,
    tensors,
    tokenBytes,
    tokenOffsets,
    usableVocab,
    device: 'cpu',
    dtype: 'f32',
    threads: 2,
    isa: '',
    trainable: true,
    ...options,
  });
}

/** All tensors of one kind, as float64. */
export async function tensorsOf(policy: Policy, kind: TensorKind, names: Iterable<string>): Promise<Weights> {
  const list = [...names];
  const tensors = await Promise.all(list.map((name) => policy.tensor(kind, name)));
  return new Map(list.map((name, i) => [name, Float64Array.from(tensors[i]!)]));
}
