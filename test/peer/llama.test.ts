/** The engine against llama.cpp (npm node-llama-cpp): log-probs of the whole vocabulary behind every one of 64 ids. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readModelFolder } from '../../src/model/folder.js';
import { writeGguf } from '../../src/model/gguf.js';
import type { Policy } from '../../src/native/policy.js';
import { type ModelSpec, SPAN_ROLE } from '../../src/native/types.js';
import { ragged } from '../../src/rollout/sample.js';
import { loadEngine } from '../engine/load.js';
import { writeCheckpoint } from '../reference/checkpoint.js';
import { seeded } from '../reference/seeded.js';
import { randomModel, TINY_SPECS } from '../reference/specs.js';

const IDS = 64;
/** Seen: 1.1e-5 at most. */
const LOGPROB_BOUND = 1e-3;
/** The best id must be the same where the best two are further apart than both engines may err. */
const GAP = 2e-3;

const folder = process.env.VF_PEER_DIR;
const absent =
  folder === undefined || folder === ''
    ? 'VF_PEER_DIR names no folder with node-llama-cpp: mkdir peer && npm install --prefix peer node-llama-cpp@3.22.1, then VF_PEER_DIR=$PWD/peer'
    : false;

/** The part of node-llama-cpp that is used. */
interface Peer {
  getLlama(options: Record<string, unknown>): Promise<{
    loadModel(options: { modelPath: string }): Promise<{
      createContext(options: Record<string, unknown>): Promise<{
        getSequence(): {
          controlledEvaluate(
            input: [number, { generateNext: { logits: true } }][],
          ): Promise<{ next: { logits: Map<number, number> } }[]>;
        };
      }>;
      dispose(): Promise<void>;
    }>;
    dispose(): Promise<void>;
  }>;
}

let llama: Awaited<ReturnType<Peer['getLlama']>> | undefined;
after(() => llama?.dispose());

async function openPeer(): Promise<NonNullable<typeof llama>> {
  if (llama) return llama;
  const entry = createRequire(resolve(folder!, 'package.json')).resolve('node-llama-cpp');
  const { getLlama } = (await import(pathToFileURL(entry).href)) as Peer;
  llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    logLevel: 'error',
    maxThreads: 2,
  });
  return llama;
}

/** [ids][vocabulary] log-probs of the next id, by llama.cpp: f32 cache, no flash attention (its defaults err by 1e-2). */
async function peerLogprobs(file: string, ids: readonly number[]): Promise<Float64Array[]> {
  const model = await (await openPeer()).loadModel({ modelPath: file });
  const context = await model.createContext({
    contextSize: 128,
    batchSize: 128,
    sequences: 1,
    flashAttention: false,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
  });
  const outputs = await context
    .getSequence()
    .controlledEvaluate(ids.map((id) => [id, { generateNext: { logits: true } }]));
  await model.dispose();
  return outputs.map(({ next }) => {
    const best = Math.max(...next.logits.values());
    const sum = [...next.logits.values()].reduce((total, logit) => total + Math.exp(logit - best), 0);
    const out = new Float64Array(next.logits.size);
    for (const [id, logit] of next.logits) out[id] = logit - best - Math.log(sum);
    return out;
  });
}

/** The same by the engine's `score`: every id of the vocabulary as a branch behind every one of the ids. */
async function ownLogprobs(
  policy: Policy,
  ids: readonly number[],
  vocabulary: number,
): Promise<Float64Array[]> {
  const segments = ids.map((id) => [id]);
  const parents = ids.map((_, i) => i - 1);
  const spans: number[] = [];
  for (let i = 0; i < ids.length; i++) {
    for (let id = 0; id < vocabulary; id++) {
      spans.push(segments.length, 0, 1, SPAN_ROLE.reasoning);
      segments.push([id]);
      parents.push(i);
    }
  }
  const { logprobs } = await policy.score({
    tree: { tokens: ragged(segments), parents: Int32Array.from(parents) },
    spans: Int32Array.from(spans),
    temperature: 1,
    entropy: false,
    microBatchTokens: 4096,
  });
  return ids.map((_, i) => Float64Array.from(logprobs.subarray(i * vocabulary, (i + 1) * vocabulary)));
}

/** The id with the greatest log-prob and its distance to the second. */
function best(logprobs: Float64Array): { id: number; gap: number } {
  const order = [...logprobs.keys()].sort((a, b) => logprobs[b]! - logprobs[a]!);
  return { id: order[0]!, gap: logprobs[order[0]!]! - logprobs[order[1]!]! };
}

const linear = { kind: 'linear', factor: 4 } as const;
const cases: [string, ModelSpec][] = [
  ['Qwen3 (QK-norm), tied', TINY_SPECS.qwen3],
  ['Qwen3 (QK-norm), untied', { ...TINY_SPECS.qwen3, tied: false }],
  ['Qwen2.5 (QKV bias), tied', { ...TINY_SPECS.qwen2, tied: true }],
  ['Qwen2.5 (QKV bias), untied', TINY_SPECS.qwen2],
  ['Llama 3 (llama3 rope scaling), tied', { ...TINY_SPECS.llama, tied: true }],
  ['Llama 3 (llama3 rope scaling), untied', TINY_SPECS.llama],
  ['Llama 2 with linear rope scaling', { ...TINY_SPECS.llama, ropeScaling: linear }],
];

for (const [index, [name, spec]] of cases.entries()) {
  test(`${name}: llama.cpp gives the same log-probs`, { skip: absent }, async (t) => {
    const model = randomModel(spec, 11 + index);
    const checkpoint = writeCheckpoint(model);
    const file = join(checkpoint, 'peer.gguf');
    await writeGguf(await readModelFolder(checkpoint), file);
    const random = seeded(101 + index);
    const ids = Array.from({ length: IDS }, () => random.integer(0, spec.vocab - 1));

    const expected = await peerLogprobs(file, ids);
    rmSync(file);
    const policy = await loadEngine(model, { trainable: false });
    const actual = await ownLogprobs(policy, ids, spec.vocab);
    await policy.close();

    assert.equal(expected.length, IDS);
    let worst = 0;
    let apart = 0;
    for (let i = 0; i < IDS; i++) {
      assert.equal(expected[i]!.length, spec.vocab);
      for (let id = 0; id < spec.vocab; id++) {
        worst = Math.max(worst, Math.abs(actual[i]![id]! - expected[i]![id]!));
      }
      const wanted = best(expected[i]!);
      if (wanted.gap <= GAP) continue;
      apart++;
      assert.equal(best(actual[i]!).id, wanted.id, `best id behind id ${i}`);
    }
    t.diagnostic(`largest difference ${worst.toExponential(1)}; ${apart} of ${IDS} best ids apart`);
    assert.ok(worst <= LOGPROB_BOUND, `log-probs differ by ${worst}`);
    assert.ok(apart > IDS / 2, `only ${apart} of ${IDS} best ids stand apart`);
  });
}
