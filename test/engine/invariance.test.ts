/** A token's log-prob has the same bits however it is computed: decoded, scored or trained on, in any company. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addon } from '../../src/native/binding.js';
import type { Policy } from '../../src/native/policy.js';
import type { ModelSpec } from '../../src/native/types.js';
import { ragged } from '../../src/rollout/sample.js';
import { type ReferenceModel, randomWeights } from '../reference/parameters.js';
import { seeded } from '../reference/seeded.js';
import { loadEngine } from './load.js';
import { bits, gradientOnly, sampleArgs, scored, tracesOf } from './sampling.js';

/** Sizes past every border of the kernels: see the last test. */
const SPEC: ModelSpec = {
  family: 'qwen3',
  layers: 2,
  hidden: 520,
  heads: 6,
  kvHeads: 2,
  headDim: 24,
  ffn: 530,
  vocab: 4611,
  rmsEps: 1e-6,
  ropeTheta: 10000,
  ropeScaling: { kind: 'none' },
  qkNorm: true,
  qkvBias: false,
  // A random tied head would repeat its own input for ever.
  tied: false,
  maxPositions: 256,
};
const MODEL: ReferenceModel = {
  spec: SPEC,
  usableVocab: SPEC.vocab,
  weights: randomWeights(SPEC, seeded(5)),
};
const PROMPT_LENGTHS = [1, 5, 16, 17, 33, 50, 7, 2, 31, 48, 12, 19, 3, 64, 9, 21];
const random = seeded(11);
const PROMPTS = PROMPT_LENGTHS.map((length) =>
  Int32Array.from({ length }, () => random.integer(0, SPEC.vocab - 1)),
);
const TRACE = 40;

let policy: Policy;
before(async () => {
  policy = await loadEngine(MODEL, { threads: 2 });
});
after(() => policy.close());

const whole = (prompt: Int32Array, ids: readonly number[]) => Int32Array.from([...prompt, ...ids]);

test('a trace has the same ids and log-prob bits sampled alone, among 3 and among 16', async () => {
  const args = { maxTokens: TRACE };
  const all = tracesOf(await policy.sample(sampleArgs(PROMPTS, args)));
  for (const size of [1, 3]) {
    const some = tracesOf(
      await policy.sample(
        sampleArgs(PROMPTS.slice(4, 4 + size), {
          ...args,
          occurrences: Int32Array.from({ length: size }, (_, i) => 4 + i),
        }),
      ),
    );
    some.forEach((trace, i) => {
      assert.deepEqual(trace.ids, all[4 + i]!.ids);
      assert.deepEqual(bits(trace.logprobs), bits(all[4 + i]!.logprobs));
    });
  }
});

test('the number of slots changes no trace', async () => {
  const wide = tracesOf(await policy.sample(sampleArgs(PROMPTS, { maxBatch: 16 })));
  const narrow = tracesOf(await policy.sample(sampleArgs(PROMPTS, { maxBatch: 3 })));
  assert.deepEqual(
    narrow.map((t) => [t.ids, bits(t.logprobs)]),
    wide.map((t) => [t.ids, bits(t.logprobs)]),
  );
});

test('traces that share a prompt have the bits of traces sampled on their own', async () => {
  const samples = Int32Array.of(5);
  const group = tracesOf(
    await policy.sample(
      sampleArgs([PROMPTS[4]!], { samples, maxTokens: TRACE, occurrences: Int32Array.of(9) }),
    ),
  );
  assert.equal(new Set(group.map((trace) => trace.ids.join())).size, 5, 'the samples of a group differ');
  for (let sample = 0; sample < 5; sample++) {
    const [alone] = tracesOf(
      await policy.sample(
        sampleArgs([PROMPTS[4]!], {
          firstSample: Int32Array.of(sample),
          maxTokens: TRACE,
          occurrences: Int32Array.of(9),
        }),
      ),
    );
    assert.deepEqual(alone!.ids, group[sample]!.ids);
    assert.deepEqual(bits(alone!.logprobs), bits(group[sample]!.logprobs));
  }
});

test("the sampler's log-probs are the scoring pass's and the training pass's, bit for bit", async () => {
  const traces = tracesOf(await policy.sample(sampleArgs(PROMPTS, { maxTokens: TRACE })));
  const segments = traces.map((trace, i) => whole(PROMPTS[i]!, trace.ids));
  const spans = Int32Array.from(segments.flatMap((ids, i) => [i, PROMPTS[i]!.length, ids.length, 0]));
  const tree = { tokens: ragged(segments), parents: new Int32Array(segments.length).fill(-1) };
  const expected = traces.flatMap((trace) => bits(trace.logprobs));
  const score = await policy.score({ tree, spans, temperature: 1, entropy: false, microBatchTokens: 4096 });
  assert.deepEqual(bits(score.logprobs), expected);
  for (const microBatchTokens of [4096, 150]) {
    for (const recompute of [false, true]) {
      const result = await policy.step(gradientOnly({ tree, spans, microBatchTokens, recompute }));
      assert.deepEqual(bits(result.logprobs), expected);
    }
  }
});

test('continuations scored on the cache have the bits of the scoring pass, one or several a trace', async () => {
  const patches = [Int32Array.of(3, 9, 4000, 17, 5), Int32Array.from({ length: 19 }, (_, i) => 40 + i)];
  const border = new TextEncoder().encode('zz'); // never written by this vocabulary within these few tokens
  const result = await policy.sample(
    sampleArgs([PROMPTS[5]!], {
      samples: Int32Array.of(3),
      maxTokens: 33,
      border,
      forceBorder: Int32Array.of(700, 701),
      continuations: ragged(patches),
      continuationOffsets: Int32Array.of(0, 2),
    }),
  );
  const traces = tracesOf(result);
  for (const [i, trace] of traces.entries()) {
    assert.deepEqual(trace.ids.slice(-2), [700, 701], 'the forced border ends the trace');
    const context = whole(PROMPTS[5]!, trace.ids);
    assert.deepEqual(bits(trace.logprobs), bits(await scored(policy, context, PROMPTS[5]!.length)));
    let at = result.continuationOffsets[i]!;
    for (const patch of patches) {
      const own = result.continuationLogprobs.slice(at, at + patch.length);
      const ids = whole(context, [...patch]);
      assert.deepEqual(bits(own), bits(await scored(policy, ids, context.length)));
      at += patch.length;
    }
    assert.equal(at, result.continuationOffsets[i + 1]);
  }
});

test('one thread gives the bits of two, AVX2 those of AVX-512', async (t) => {
  const args = sampleArgs(PROMPTS.slice(0, 6), { maxTokens: TRACE });
  const expected = tracesOf(await policy.sample(args));
  const segments = expected.map((trace, i) => whole(PROMPTS[i]!, trace.ids));
  const tree = { tokens: ragged(segments), parents: new Int32Array(segments.length).fill(-1) };
  const spans = Int32Array.from(segments.flatMap((ids, i) => [i, PROMPTS[i]!.length, ids.length, 0]));
  const step = gradientOnly({ tree, spans });
  await policy.step(step);
  const names = [
    'lm_head.weight',
    'model.layers.0.self_attn.k_proj.weight',
    'model.layers.1.mlp.down_proj.weight',
  ];
  const gradients = await Promise.all(names.map((name) => policy.tensor('grad', name)));
  const others = [{ threads: 1 }, { threads: 3 }, ...(addon().cpu.isa === 'avx512' ? [{ isa: 'avx2' }] : [])];
  if (others.length < 3) t.diagnostic('this CPU has no AVX-512: only thread counts were compared');
  for (const options of others) {
    const other = await loadEngine(MODEL, options);
    const traces = tracesOf(await other.sample(args));
    assert.deepEqual(
      traces.map((trace) => trace.ids),
      expected.map((trace) => trace.ids),
    );
    assert.deepEqual(
      traces.map((trace) => bits(trace.logprobs)),
      expected.map((trace) => bits(trace.logprobs)),
    );
    await other.step(step);
    for (const [i, name] of names.entries()) {
      assert.deepEqual(
        bits(await other.tensor('grad', name)),
        bits(gradients[i]!),
        `${name} under ${JSON.stringify(options)}`,
      );
    }
    await other.close();
  }
});

test('no key or value survives a weight update: the next rollout is that of the new weights', async () => {
  const own = await loadEngine(MODEL);
  const args = sampleArgs(PROMPTS.slice(0, 3), { temperature: 0 });
  const before = tracesOf(await own.sample(args));
  const [first] = before;
  const ids = whole(PROMPTS[0]!, first!.ids);
  const tree = { tokens: ragged([ids]), parents: Int32Array.of(-1) };
  const spans = Int32Array.of(0, PROMPTS[0]!.length, ids.length, 0);
  const optimizer = {
    lr: 0.05,
    beta1: 0.9,
    beta2: 0.95,
    eps: 1e-8,
    weightDecay: 0,
    clipNorm: 0,
    updatesDone: 0,
  };
  await own.step(gradientOnly({ tree, spans, update: true, spanWeights: Float32Array.of(-1), optimizer }));
  const traces = tracesOf(await own.sample(args));
  assert.notDeepEqual(traces[0]!.ids, first!.ids, 'the update was large enough to show');
  for (const [i, trace] of traces.entries()) {
    const again = await scored(own, whole(PROMPTS[i]!, trace.ids), PROMPTS[i]!.length);
    assert.deepEqual(bits(trace.logprobs), bits(again));
  }
  await own.close();
});

test('the shapes above cross every border of the kernels', () => {
  const { constants } = addon();
  const of = (name: string) => {
    const value = constants[name];
    assert.ok(value !== undefined, `the addon states ${name}`);
    return value;
  };
  const rows = PROMPT_LENGTHS.reduce((a, b) => a + b, 0) + PROMPTS.length * TRACE;
  assert.ok(SPEC.hidden > of('gemm_k_block') && SPEC.hidden % of('gemm_k_block') !== 0, 'K above the block');
  assert.ok(
    SPEC.vocab > 2 * of('vocab_chunk') && SPEC.vocab % of('vocab_chunk') !== 0,
    'three vocabulary chunks',
  );
  assert.ok(Math.max(...PROMPT_LENGTHS) + TRACE > 2 * of('kv_block'), 'more than two KV blocks');
  assert.ok(
    PROMPT_LENGTHS.some((length) => length % of('kv_block') !== 0),
    'a prompt that ends inside a block',
  );
  for (const isa of ['avx512', 'avx2']) {
    assert.ok(PROMPTS.length > of(`gemm_rows_${isa}`), `decode batches past the micro-kernel of ${isa}`);
    assert.ok(rows > of(`gemm_row_block_${isa}`), `training rows past the row block of ${isa}`);
    assert.ok(SPEC.vocab > of(`gemm_column_block_${isa}`), `columns past the column block of ${isa}`);
  }
  assert.ok(rows > of('logprob_rows'), 'several chunks of LM head rows');
  assert.ok(rows > 3 * 150, 'several micro-batches of 150 tokens');
});
