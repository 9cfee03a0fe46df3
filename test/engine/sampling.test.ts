/** Where a trace ends, which token is drawn, and what is refused. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addon } from '../../src/native/binding.js';
import type { Policy } from '../../src/native/policy.js';
import { FINISH, type SampleResult } from '../../src/native/types.js';
import { uniformAt } from '../../src/random.js';
import { ragged } from '../../src/rollout/sample.js';
import { type ReferenceModel, randomWeights } from '../reference/parameters.js';
import { seeded } from '../reference/seeded.js';
import { TINY_SPECS } from '../reference/specs.js';
import { loadEngine } from './load.js';
import { gradientOnly, sampleArgs, tracesOf } from './sampling.js';

/** A model that writes token t with logit `logits[t]`, whatever came before: the last norm's input is constant. */
function fixed(logits: readonly number[]): ReferenceModel {
  const spec = {
    ...TINY_SPECS.llama,
    vocab: logits.length,
    tied: false,
    ropeScaling: { kind: 'none' as const },
  };
  const weights = randomWeights(spec, seeded(3));
  for (const [name, values] of weights) if (/o_proj|down_proj/.test(name)) values.fill(0);
  weights.get('model.embed_tokens.weight')!.fill(1);
  weights.get('model.norm.weight')!.fill(1);
  const head = weights.get('lm_head.weight')!;
  // Every hidden number is 1 / sqrt(1 + eps) after the norm: its share of the logit is logit / hidden.
  for (let i = 0; i < head.length; i++) head[i] = logits[Math.floor(i / spec.hidden)]! / spec.hidden;
  return { spec, usableVocab: logits.length, weights };
}

const PROMPT = Int32Array.of(0, 0, 0);
const finish = (result: SampleResult, i = 0) => FINISH[result.finish[i]!];
const utf8 = (text: string) => new TextEncoder().encode(text);

describe('stops', () => {
  const tokens = ['.<', 'answer', 'answers', '</answer>\n', 'x', '<'];
  const load = (first: number, then: number) => {
    // Greedy writes the id of the larger logit; a path is made by two models.
    const logits = tokens.map((_, id) => (id === first ? 8 : id === then ? 4 : 0));
    return loadEngine(fixed(logits), {}, tokens);
  };

  test('a `<` fused with punctuation before `answer` is a border, found on bytes', async () => {
    const policy = await loadEngine(fixed([0, 20, 0, 0, 0, 0]), {}, tokens);
    const result = await policy.sample(
      sampleArgs([PROMPT], { temperature: 0, border: utf8('answer'), maxTokens: 5 }),
    );
    assert.equal(finish(result), 'border');
    assert.deepEqual([...result.tokens.ids], [1]);
    await policy.close();
  });

  test('a token that runs past the border ends the trace as an overrun, without continuation', async () => {
    const policy = await loadEngine(fixed([0, 0, 20, 0, 0, 0]), {}, tokens);
    const result = await policy.sample(
      sampleArgs([PROMPT], {
        temperature: 0,
        border: utf8('answer'),
        maxTokens: 5,
        continuations: ragged([[4]]),
        continuationOffsets: Int32Array.of(0, 1),
      }),
    );
    assert.equal(finish(result), 'overrun');
    assert.deepEqual([...result.tokens.ids], [2]);
    assert.equal(result.continuationLogprobs.length, 0);
    await policy.close();
  });

  test('a stop string inside the last token ends the trace; its ids are kept whole', async () => {
    const policy = await load(3, 4);
    const result = await policy.sample(
      sampleArgs([PROMPT], { temperature: 0, stops: [utf8('nothing'), utf8('</answer>')], maxTokens: 5 }),
    );
    assert.equal(finish(result), 'stop');
    assert.equal(result.stopIndex[0], 1);
    assert.deepEqual([...result.tokens.ids], [3]);
    await policy.close();
  });

  test('a stop string is found across tokens', async () => {
    const policy = await load(4, 5);
    const result = await policy.sample(
      sampleArgs([PROMPT], { temperature: 0, stops: [utf8('xxx')], maxTokens: 9 }),
    );
    assert.equal(finish(result), 'stop');
    assert.deepEqual([...result.tokens.ids], [4, 4, 4]);
    await policy.close();
  });

  test('every id of the end-of-text set ends a trace, and the longest trace is maxTokens', async () => {
    const policy = await load(4, 5);
    const ended = await policy.sample(
      sampleArgs([PROMPT], { temperature: 0, eosIds: Int32Array.of(2, 4), maxTokens: 9 }),
    );
    assert.equal(finish(ended), 'eos');
    assert.deepEqual([...ended.tokens.ids], [4]);
    const cut = await policy.sample(sampleArgs([PROMPT], { temperature: 0, maxTokens: 9 }));
    assert.equal(finish(cut), 'length');
    assert.equal(cut.tokens.ids.length, 9);
    await policy.close();
  });
});

describe('draws', () => {
  const logits = [2, 1, 0, -1, -200];
  let policy: Policy;
  before(async () => {
    policy = await loadEngine(fixed(logits));
  });
  after(() => policy.close());

  const counts = async (changes: Parameters<typeof sampleArgs>[1]) => {
    const result = await policy.sample(
      sampleArgs([PROMPT], { samples: Int32Array.of(400), maxTokens: 10, ...changes }),
    );
    const seen = logits.map(() => 0);
    for (const id of result.tokens.ids) seen[id]!++;
    return { seen, result };
  };

  test('4,000 draws have the frequencies of the softmax, and none is of probability 0', async () => {
    const { seen, result } = await counts({});
    const weights = logits.map((logit) => Math.exp(logit));
    const sum = weights.reduce((a, b) => a + b, 0);
    weights.forEach((weight, id) => {
      const p = weight / sum;
      const error = Math.sqrt((p * (1 - p)) / 4000);
      assert.ok(Math.abs(seen[id]! / 4000 - p) <= 4.5 * error, `id ${id}: ${seen[id]} of 4000 for p ${p}`);
    });
    assert.equal(seen[4], 0);
    for (const [i, id] of [...result.tokens.ids].entries()) {
      assert.ok(Math.abs(result.logprobs[i]! - Math.log(weights[id]! / sum)) < 1e-4);
    }
  });

  test("a draw's number is the stream's: the token is where its uniform falls in the CDF", async () => {
    const { result } = await counts({ samples: Int32Array.of(3), occurrences: Int32Array.of(6) });
    const weights = logits.map((logit) => Math.exp(logit));
    const sum = weights.reduce((a, b) => a + b, 0);
    for (const [sample, trace] of tracesOf(result).entries()) {
      for (const [position, id] of trace.ids.entries()) {
        const u = uniformAt({ seed: 7n, purpose: 0, step: 1, occurrence: 6, sample }, position);
        assert.equal(u, addon().uniform({ seed: 7n, purpose: 0, step: 1 }, 6, sample, position));
        const below = weights.slice(0, id).reduce((a, b) => a + b, 0) / sum;
        assert.ok(u > below - 1e-6 && u < below + weights[id]! / sum + 1e-6);
      }
    }
  });

  test('top-k and top-p cut the tail, and log-probs stay those of the uncut softmax', async () => {
    const k = await counts({ topK: 2 });
    assert.deepEqual(k.seen.slice(2), [0, 0, 0]);
    const p = await counts({ topP: 0.6 });
    assert.deepEqual(p.seen.slice(1), [0, 0, 0, 0], 'the first id alone holds 0.64');
    const tiny = await counts({ topP: 1e-9 });
    assert.equal(tiny.seen[0], 4000, 'the top token is always kept');
    assert.ok(Math.abs(tiny.result.logprobs[0]! - Math.log(0.6439142598879722)) < 1e-4);
  });

  test('temperature 0 and tiny temperatures take the largest logit, log-probs at T = 1', async () => {
    for (const temperature of [0, 1e-9]) {
      const { seen, result } = await counts({ temperature });
      assert.equal(seen[0], 4000);
      assert.ok(Math.abs(result.logprobs[0]! - Math.log(0.6439142598879722)) < 1e-4);
    }
  });

  test('the same seed gives the same bits, another seed or step others', async () => {
    const draw = async (seed: bigint, step: number) =>
      (await counts({ stream: { seed, purpose: 0, step } })).result.tokens.ids.join();
    assert.equal(await draw(7n, 1), await draw(7n, 1));
    assert.notEqual(await draw(8n, 1), await draw(7n, 1));
    assert.notEqual(await draw(7n, 2), await draw(7n, 1));
  });
});

describe('failures', () => {
  test('a NaN weight stops the update with the op and the trace named; the weights stay as they were', async () => {
    const model = fixed([1, 2, 3]);
    model.weights.get('model.norm.weight')![0] = Number.NaN;
    const policy = await loadEngine(model);
    const name = 'model.layers.0.mlp.up_proj.weight';
    const before = await policy.tensor('weight', name);
    const args = gradientOnly({
      tree: { tokens: ragged([[0, 1, 2]]), parents: Int32Array.of(-1) },
      spans: Int32Array.of(0, 1, 3, 0),
      update: true,
    });
    await assert.rejects(policy.step(args), {
      code: 'VF_NOT_FINITE',
      message: /op logprob.*group 0, trace 0/,
    });
    assert.deepEqual(await policy.tensor('weight', name), before);
    await assert.rejects(policy.sample(sampleArgs([PROMPT])), {
      code: 'VF_NOT_FINITE',
      message: /op sample/,
    });
    await policy.close();
  });

  test('an id outside the vocabulary, an empty prompt and a prompt past the positions are refused', async () => {
    const policy = await loadEngine(fixed([1, 2, 3]));
    await assert.rejects(policy.sample(sampleArgs([[0, 3]])), {
      code: 'VF_INVALID_VALUE',
      message: /below 3.*received 3/,
    });
    await assert.rejects(policy.sample(sampleArgs([[]])), { code: 'VF_INVALID_VALUE', message: /prompt 0/ });
    await assert.rejects(policy.sample(sampleArgs([PROMPT], { maxTokens: 1000 })), {
      code: 'VF_TOO_LONG',
      message: /256 positions.*1003/,
    });
    await policy.close();
  });

  test('a closed policy refuses work, and closing twice is harmless', async () => {
    const policy = await loadEngine(fixed([1, 2, 3]));
    await policy.close();
    await policy.close();
    await assert.rejects(policy.sample(sampleArgs([PROMPT])), { code: 'VF_INVALID_STATE' });
  });

  test('cancel ends the verb in progress and leaves the policy usable', async () => {
    const policy = await loadEngine(fixed([1, 2, 3]));
    const long = policy.sample(sampleArgs([PROMPT], { samples: Int32Array.of(2000), maxTokens: 200 }));
    setTimeout(() => policy.cancel(), 30);
    await assert.rejects(long, { code: 'VF_CANCELLED' });
    assert.equal((await policy.sample(sampleArgs([PROMPT]))).tokens.ids.length, 24);
    await policy.close();
  });
});
