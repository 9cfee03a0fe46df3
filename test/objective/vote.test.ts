/** The vote as an objective: what it labels, rewards, keeps and skips, and that GRPO and the random streams are as stated. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Policy } from '../../src/native/policy.js';
import type { StepPlan } from '../../src/objective/objective.js';
import { type QuestionVote, type VoteOptions, vote } from '../../src/objective/vote.js';
import { PURPOSE, uniformAt } from '../../src/random.js';
import { type RolloutSettings, sampleGroups } from '../../src/rollout/sample.js';
import type { Group } from '../../src/rollout/trajectory.js';
import { TEMPLATES } from '../../src/text/template.js';
import type { Tokenizer } from '../../src/text/tokenizer.js';
import { stepArgs } from '../../src/train/loop.js';
import type { TraceChecker } from '../../src/verify/checker.js';
import { verdictOf } from '../../src/verify/tool.js';
import { localVerifier } from '../../src/verify/verifier.js';
import { loadEngine } from '../engine/load.js';
import { randomModel, TINY_SPECS } from '../reference/specs.js';

/** A group whose traces box these answers; null boxes nothing. */
function groupOf(answers: readonly (string | null)[], gold: string[] = [], id = '1'): Group {
  const question = { id, question: `question ${id}`, answers: gold, category: '', file: '', line: 1 };
  const traces = answers.map((answer, i) => ({
    ids: Int32Array.of(3 + (i % 5), 7),
    logprobs: Float32Array.of(-1, -2),
    finish: 'eos' as const,
    text: answer === null ? 'I do not know' : `so \\boxed{${answer}}`,
    answerLogprobs: [],
  }));
  return { question, occurrence: 0, promptIds: Int32Array.of(1, 2), patches: [], traces };
}

/** A checker that verifies a trace when `verified` says so. */
function checkerOf(verified: (group: number, trace: number) => boolean): TraceChecker {
  return {
    parameters: 10,
    check: async (groups, answers) => ({
      verdicts: groups.map((group, g) =>
        group.traces.map((_, t) =>
          answers[g]![t]!.key === null
            ? verdictOf('no answer')
            : verdictOf(verified(g, t) ? 'verified' : 'refuted'),
        ),
      ),
      replies: { promptTokens: 5, generatedTokens: 7, seconds: 0 },
      executeSeconds: 0,
    }),
  };
}

type Made = { plan: StepPlan; votes: readonly QuestionVote[] };

async function planOf(groups: Group[], changes: Partial<VoteOptions> = {}): Promise<Made> {
  let votes: readonly QuestionVote[] = [];
  const objective = vote({
    votes: groups[0]!.traces.length,
    trainSamples: groups[0]!.traces.length,
    omega: 1,
    minAgreement: 0,
    maxMissing: 0.5,
    advantage: 'grpo',
    epochs: 1,
    questionsPerUpdate: 1,
    clip: 0.2,
    dualClip: 3,
    kl: 0.001,
    tisCap: 0,
    parameters: 100,
    extraForwards: 1,
    checker: null,
    record: (_, made) => {
      votes = made;
    },
    ...changes,
  });
  return { plan: await objective.plan(groups, 1), votes };
}

/** Uniform numbers of a seeded stream. */
function unit(seed: number): () => number {
  let at = 0;
  return () => uniformAt({ seed, purpose: PURPOSE.order, step: 0, occurrence: 0, sample: 0 }, at++);
}

function randomGroups(seed: number, count: number, size: number): Group[] {
  const next = unit(seed);
  return Array.from({ length: count }, (_, g) =>
    groupOf(
      Array.from({ length: size }, () => (next() < 0.1 ? null : String(Math.floor(next() * 4)))),
      ['2'],
      String(g),
    ),
  );
}

/** TTRL's counter: the most frequent answer, the first seen among equals. */
function majority(group: Group): string | null {
  const counts = new Map<string, number>();
  for (const { text } of group.traces) {
    const answer = /\\boxed\{(\d+)\}/.exec(text)?.[1];
    if (answer !== undefined) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  let best: string | null = null;
  for (const [answer, count] of counts) if (best === null || count > counts.get(best)!) best = answer;
  return best;
}

const labels = ({ votes }: Made) => votes.map(({ tally }) => tally.label);

describe('labels and rewards', () => {
  test('omega 1, all verified and all unverified equal plain majority voting, rewards bit for bit', async () => {
    const groups = randomGroups(1, 400, 12);
    const next = unit(2);
    const random = groups.map((group) => group.traces.map(() => next() < 0.5));
    const plain = await planOf(groups);
    assert.deepEqual(labels(plain), groups.map(majority));
    for (const changes of [
      { omega: 1, checker: checkerOf((g, t) => random[g]![t]!) },
      { omega: 5, checker: checkerOf(() => true) },
      { omega: 5, checker: checkerOf(() => false) },
      { omega: Number.POSITIVE_INFINITY, checker: checkerOf(() => true) },
    ]) {
      const other = await planOf(groups, changes);
      assert.deepEqual(other.plan.given, plain.plan.given);
      assert.deepEqual(labels(other), labels(plain));
    }
  });

  test("the sum of a question's rewards is its winner's count", async () => {
    const groups = randomGroups(3, 400, 16);
    const made = await planOf(groups, { omega: 5, checker: checkerOf((g, t) => (g + t) % 3 === 0) });
    made.votes.forEach(({ tally }, g) => {
      const sum = made.plan.given.subarray(16 * g, 16 * g + 16).reduce((a, b) => a + b, 0);
      const { verified, unverified } = tally.winner ?? { verified: 0, unverified: 0 };
      assert.equal(sum, verified + unverified);
    });
  });

  test('omega 5: three verified beat 14 unverified, tie with 15 (the earlier answer wins) and lose to 16', async () => {
    for (const [popular, label] of [
      [14, '7'],
      [15, '9'],
      [16, '9'],
    ] as const) {
      const group = groupOf([...Array<string>(popular).fill('9'), '7', '7', '7']);
      const { votes } = await planOf([group], { omega: 5, checker: checkerOf((_, t) => t >= popular) });
      assert.equal(votes[0]!.tally.label, label);
      assert.equal(votes[0]!.tally.tie, popular === 15);
    }
  });

  test('one key joins the spellings of an answer for vote and reward', async () => {
    const { plan, votes } = await planOf([groupOf(['1/2', '0.5', '\\frac{1}{2}', '3', '3'])]);
    assert.deepEqual([...plan.given], [1, 1, 1, 0, 0]);
    assert.equal(votes[0]!.tally.agreement, 0.6);
  });

  test('references change metrics and nothing else', async () => {
    const answers = ['4', '4', '5', null];
    const right = await planOf([groupOf(answers, ['4'])]);
    const wrong = await planOf([groupOf(answers, ['5'])]);
    const none = await planOf([groupOf(answers)]);
    assert.deepEqual(wrong.plan.given, right.plan.given);
    assert.deepEqual(none.plan.given, right.plan.given);
    assert.equal(right.plan.metrics['vote/label_accuracy'], 1);
    assert.equal(wrong.plan.metrics['vote/label_accuracy'], 0);
    assert.equal(wrong.plan.metrics['vote/false_popular'], 1);
    assert.ok(!('vote/label_accuracy' in none.plan.metrics));
  });

  test('where nothing is checked there is no accuracy of a verifier; where it is, verdicts are counted', async () => {
    const groups = [groupOf(['4', '4', '5', null], ['4'])];
    const plain = await planOf(groups);
    assert.deepEqual(
      Object.keys(plain.plan.metrics).filter((name) => /^(verifier|verdict)\//.test(name)),
      [],
    );
    const checked = await planOf(groups, { omega: 5, checker: checkerOf((_, t) => t === 0) });
    assert.equal(checked.plan.metrics['verdict/verified'], 1);
    assert.equal(checked.plan.metrics['verdict/refuted'], 2);
    assert.equal(checked.plan.metrics['verdict/no_answer'], 1);
    assert.equal(checked.plan.metrics['verifier/precision'], 1);
    assert.equal(checked.plan.metrics['verifier/recall'], 0.5);
  });
});

describe('what is trained on', () => {
  test('the first 32 of 64, though all 64 make the label', async () => {
    const answers = [...Array<string>(32).fill('1'), ...Array<string>(32).fill('2')];
    answers[0] = '2';
    const { plan } = await planOf([groupOf(answers)], { trainSamples: 32 });
    assert.equal(plan.groups[0]!.traces.length, 32);
    assert.deepEqual([...plan.given], [1, ...Array<number>(31).fill(0)]);
  });

  test('a question below the least agreement is left out; one without answers stays, with rewards 0', async () => {
    const split = groupOf(['1', '2', '3', '4'], [], 'split');
    const agreed = groupOf(['1', '1', '1', '2'], [], 'agreed');
    const silent = groupOf([null, null, null, null], [], 'silent');
    const { plan } = await planOf([split, agreed, silent]);
    assert.equal(plan.groups.length, 3);
    const picky = (await planOf([split, agreed], { minAgreement: 0.5 })).plan;
    assert.deepEqual(
      picky.groups.map(({ question }) => question.id),
      ['agreed'],
    );
    assert.deepEqual([...picky.given], [1, 1, 1, 0]);
    assert.equal(picky.miniBatches, 1);
    assert.equal(picky.metrics['vote/low_agreement'], 1);
    assert.deepEqual([...plan.given.subarray(8)], [0, 0, 0, 0]);
    assert.equal(plan.metrics['vote/no_answer'], 1);
  });

  test('updates are made of as many questions as asked for', async () => {
    const groups = randomGroups(5, 8, 4);
    assert.equal((await planOf(groups)).plan.miniBatches, 8);
    assert.equal((await planOf(groups, { questionsPerUpdate: 4 })).plan.miniBatches, 2);
    assert.equal((await planOf(groups, { questionsPerUpdate: 8 })).plan.miniBatches, 1);
  });
});

const settings: RolloutSettings = {
  seed: 5n,
  purpose: PURPOSE.policy,
  maxTokens: 6,
  temperature: 1,
  topP: 1,
  topK: 0,
  eosIds: [],
  border: '',
  forceBorder: new Int32Array(0),
  stops: [],
  maxBatch: 64,
};

/** The engine's arguments for gradients of a plan, without KL. */
function gradientsOf(plan: StepPlan) {
  const args = stepArgs(
    {
      schedule: { kind: 'constant', lr: 1e-3, warmupSteps: 0, totalSteps: 1, floor: 0 },
      optimizer: { beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0, clipNorm: 0 },
      rollout: settings,
      microBatchTokens: 4096,
      recompute: false,
    },
    plan,
    1,
    0,
  );
  return { ...args, klCoefficient: 0, update: false };
}

describe('in the engine', () => {
  let policy: Policy;
  before(async () => {
    policy = await loadEngine(randomModel(TINY_SPECS.qwen3, 11), { threads: 1 });
  });
  after(() => policy.close());

  test('GRPO advantages of k rewarded traces among n (unbiased deviation + 1e-6)', async () => {
    for (const [n, k, up, down] of [
      [32, 1, 5.480047, -0.176776],
      [32, 8, 1.704769, -0.568256],
      [32, 16, 0.984249, -0.984249],
      [32, 31, 0.176776, -5.480047],
      [32, 32, 0, 0],
      [8, 3, 1.207612, -0.724567],
    ] as const) {
      // With k = 1 every answer is given once, and the earliest wins.
      const group = groupOf(Array.from({ length: n }, (_, i) => (i < k ? '1' : `1${i}`)));
      const { plan } = await planOf([group]);
      const { advantage } = await policy.step(gradientsOf(plan));
      assert.ok(Math.abs(advantage[0]! - up) < 2e-6, `${k} of ${n}: ${advantage[0]}`);
      assert.ok(Math.abs(advantage[n - 1]! - down) < 2e-6, `${k} of ${n}: ${advantage[n - 1]}`);
    }
  });

  test('a group without variance stays in the denominator', async () => {
    const live = groupOf(['1', '1', '2', '2'], [], 'live');
    const dead = groupOf(['1', '1', '1', '1'], [], 'dead');
    const normOf = async (groups: Group[]) =>
      (await policy.step(gradientsOf((await planOf(groups, { questionsPerUpdate: 2 })).plan))).gradNorms[0]!;
    const ratio = (await normOf([live, dead])) / (await normOf([live]));
    assert.ok(Math.abs(ratio - 0.5) < 1e-5, `the same gradient over twice the tokens: ${ratio}`);
  });

  test('the verifier draws from streams of its own: the policy samples the same bits with and without it', async () => {
    const group = groupOf(['1', '2', '3', '4']);
    const words = (ids: Int32Array) => [...ids].join(' ');
    const sample = async (step: number, promptIds = group.promptIds) => {
      const { groups } = await sampleGroups(
        policy,
        [{ ...group, promptIds, samples: 4 }],
        settings,
        step,
        words,
      );
      return groups[0]!.traces.map(({ text }) => text);
    };
    const alone = [await sample(1), await sample(2)];
    const form = Int32Array.of(4, 5);
    const tokenizer = {
      chatTemplate: undefined,
      encodePrompts: async (prompts: readonly unknown[]) => prompts.map(() => form),
      decode: words,
    } as unknown as Tokenizer;
    const verifier = localVerifier({
      name: 'self',
      policy,
      form: { tokenizer, template: TEMPLATES.raw, texts: null, showAnswer: false },
      eosIds: [],
      settings: { seed: 5n, maxTokens: 6, temperature: 1, maxBatch: 64 },
      owned: false,
    });
    const ask = async (step: number, samples: number[]) => {
      const common = { question: 'q', trace: 't', answer: '1', source: group.question, occurrence: 0 };
      const prompt = { system: '', user: 'u' };
      return (
        await verifier.ask(
          samples.map((index) => ({ ...common, prompt, sample: index })),
          step,
        )
      ).texts;
    };
    const first = await sample(1);
    const replies = await ask(1, [0, 1, 2, 3]);
    assert.deepEqual([first, await sample(2)], alone);
    assert.deepEqual(await ask(1, [2, 0]), [replies[2], replies[0]], 'a reply does not depend on the others');
    assert.notDeepEqual(await sample(1, form), replies, 'the same prompt and step, another stream');
  });
});
