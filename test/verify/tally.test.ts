/** The ω vote: worked examples, properties, and 10,000 random groups against exact rationals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Ballot,
  parseOmega,
  type TallyOptions,
  tally,
  type VerdictValue,
  voteRewards,
} from '../../src/verify/tally.js';
import { exactLabel } from './exact-vote.js';

const plain: TallyOptions = { omega: 1, minAgreement: 0, maxMissing: 1 };

function votes(...rows: [number, string | null, VerdictValue][]): Ballot[] {
  return rows.flatMap(([count, key, verdict]) => Array.from({ length: count }, () => ({ key, verdict })));
}

const verdict = fc.constantFrom<VerdictValue>(1, 0, 'missing');
const key = fc.constantFrom<string | null>('a', 'b', 'c', 'd', null);
const group = fc.array(fc.record({ key, verdict }), { minLength: 1, maxLength: 64 });
const omega = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.double({ min: 1, max: 1e6, noNaN: true }),
  fc.constant(Infinity),
);

test('3 verified at ω = 5 beat 14 unverified, tie with 15 and lose to 16', () => {
  const at = (count: number): ReturnType<typeof tally> =>
    tally(votes([count, 'Y', 0], [3, 'X', 1]), { ...plain, omega: 5 });
  assert.equal(at(14).label, 'X');
  assert.equal(at(14).winner?.mass, 15);
  assert.equal(at(14).flipped, true);
  assert.equal(at(14).majority, 'Y');
  assert.equal(at(14).tie, false);
  assert.equal(at(15).label, 'Y');
  assert.equal(at(15).tie, true);
  assert.equal(at(16).label, 'Y');
  assert.equal(at(16).tie, false);
});

test('a tie goes to the answer whose first sample has the lowest index, and is counted (V06)', () => {
  const result = tally(votes([1, 'b', 0], [1, 'a', 0], [1, 'b', 0], [1, 'a', 0], [1, 'c', 0]), plain);
  assert.equal(result.label, 'b');
  assert.equal(result.tie, true);
  assert.equal(result.majorityTie, true);
});

test('no answer never wins, though it is most frequent (V05)', () => {
  const result = tally(votes([5, null, 1], [3, '42', 0]), plain);
  assert.equal(result.label, '42');
  assert.equal(result.agreement, 3 / 8);
  assert.equal(result.unanswered, 5);
  assert.equal(result.verified, 0);
  assert.equal(tally(votes([5, null, 0], [3, '42', 0]), { ...plain, minAgreement: 0.5 }).label, null);
});

test('a question on which nobody answered has no label and no reward', () => {
  const result = tally(votes([4, null, 0], [1, '', 1]), { ...plain, omega: 5 });
  assert.deepEqual([result.label, result.skipped, result.unanswered], [null, 'no answer', 5]);
  assert.deepEqual(voteRewards([null, '', 'None'], null), [0, 0, 0]);
  assert.deepEqual(voteRewards([null, 'None'], 'None'), [0, 1]);
});

test('below the least agreement a question is skipped, at it it is kept (V04)', () => {
  const group = votes([3, 'a', 0], [2, 'b', 0], [2, 'c', 0], [1, 'd', 0]);
  const skipped = tally(group, { ...plain, minAgreement: 0.4 });
  assert.deepEqual([skipped.label, skipped.winner?.key, skipped.skipped], [null, 'a', 'low agreement']);
  assert.equal(tally(group, { ...plain, minAgreement: 0.375 }).label, 'a');
  assert.equal(tally(votes([3, 'a', 0], [27, null, 0]), { ...plain, minAgreement: 0.1 }).label, 'a');
});

test('a missing verdict weighs 1, and too many of them turn ω off for the question (V08)', () => {
  const group = votes([4, 'right', 'missing'], [1, 'right', 0], [3, 'wrong', 1]);
  const weighted = tally(group, { omega: 5, minAgreement: 0, maxMissing: 0.5 });
  assert.deepEqual([weighted.label, weighted.omegaOff, weighted.missing], ['wrong', false, 4]);
  const off = tally(group, { omega: 5, minAgreement: 0, maxMissing: 0.4 });
  assert.deepEqual([off.label, off.omegaOff, off.winner?.mass], ['right', true, 5]);
});

test('ω = inf is the exact limit: verified count, then unverified count, then first index', () => {
  const inf = { ...plain, omega: Infinity };
  assert.equal(tally(votes([9, 'a', 0], [1, 'b', 1]), inf).label, 'b');
  assert.equal(tally(votes([1, 'a', 1], [1, 'b', 1], [1, 'b', 0]), inf).label, 'b');
  assert.equal(tally(votes([2, 'a', 0], [3, 'b', 0]), inf).winner?.mass, 3);
  assert.equal(tally(votes([1, 'a', 1], [1, 'b', 1]), inf).tie, true);
});

test('ω below 1, NaN, empty, negative or unbounded text is refused with a reason', () => {
  for (const bad of [0.5, 0, -1, Number.NaN, -Infinity]) {
    assert.throws(() => tally([], { ...plain, omega: bad }), { code: 'VF_INVALID_VALUE', exitCode: 2 });
  }
  for (const bad of ['', ' ', '0.9', '-2', 'nan', 'Infinity', '1e999', '5x', '0x10']) {
    assert.throws(() => parseOmega(bad), { code: 'VF_INVALID_VALUE' }, bad);
  }
  assert.deepEqual(['1', '2.5', '5', '1e3', 'inf'].map(parseOmega), [1, 2.5, 5, 1000, Infinity]);
});

test('shares and entropy of a vote', () => {
  const result = tally(votes([2, 'a', 1], [1, 'b', 0], [1, 'c', 'missing'], [4, null, 0]), plain);
  assert.equal(result.majorityShare, 0.25);
  assert.equal(result.entropy, 0.5 * Math.log(2) + 2 * 0.25 * Math.log(4));
  assert.equal(tally(votes([3, 'a', 0]), plain).entropy, 0);
});

test('10,000 random groups have the label of exact rational arithmetic', () => {
  const ratio = fc.record({
    numerator: fc.integer({ min: 0, max: 400 }),
    tens: fc.integer({ min: 0, max: 2 }),
  });
  let ties = 0;
  fc.assert(
    fc.property(group, fc.option(ratio, { freq: 8 }), (ballots, choice) => {
      // ω = 1 + numerator / 10^tens, written as the decimal that a user would type.
      const denominator = choice === null ? 1n : 10n ** BigInt(choice.tens);
      const numerator = choice === null ? 0n : denominator + BigInt(choice.numerator);
      const value = choice === null ? Infinity : Number(numerator) / Number(denominator);
      const exact = exactLabel(ballots, choice === null ? null : { numerator, denominator });
      const result = tally(ballots, { omega: value, minAgreement: 0, maxMissing: 1 });
      assert.equal(result.label, exact);
      if (result.tie) ties++;
    }),
    { numRuns: 10_000, seed: 5 },
  );
  assert.ok(ties > 500, `only ${ties} ties were met`);
});

test('the winner has maximal mass and the reward sum is its count', () => {
  fc.assert(
    fc.property(group, omega, (ballots, value) => {
      const result = tally(ballots, { omega: value, minAgreement: 0, maxMissing: 1 });
      const winner = result.winner;
      if (winner === null) return;
      for (const answer of result.answers) assert.ok(answer.mass <= winner.mass);
      const rewards = voteRewards(
        ballots.map((b) => b.key),
        result.label,
      );
      assert.equal(
        rewards.reduce((a, b) => a + b, 0),
        winner.verified + winner.unverified,
      );
    }),
    { seed: 6 },
  );
});

test('shuffled samples change nothing but a tie', () => {
  const shuffled = group.chain((ballots) =>
    fc.tuple(fc.constant(ballots), fc.shuffledSubarray(ballots, { minLength: ballots.length })),
  );
  fc.assert(
    fc.property(shuffled, omega, ([ballots, order], value) => {
      const options = { omega: value, minAgreement: 0, maxMissing: 0.5 };
      const a = tally(ballots, options);
      const b = tally(order, options);
      assert.equal(a.tie, b.tie);
      assert.equal(a.winner?.mass, b.winner?.mass);
      assert.equal(a.omegaOff, b.omegaOff);
      if (!a.tie) assert.equal(a.label, b.label);
    }),
    { seed: 7 },
  );
});

test('ω = 1, all verified and all unverified equal majority voting', () => {
  fc.assert(
    fc.property(group, omega, (ballots, value) => {
      const majority = tally(
        ballots.map(({ key }) => ({ key, verdict: 0 as const })),
        plain,
      );
      const same = (other: ReturnType<typeof tally>): void => {
        assert.deepEqual(
          [other.label, other.tie, other.agreement, other.skipped, other.flipped],
          [majority.label, majority.tie, majority.agreement, majority.skipped, false],
        );
      };
      same(tally(ballots, plain));
      for (const verdict of [0, 1] as const) {
        same(
          tally(
            ballots.map(({ key }) => ({ key, verdict })),
            { ...plain, omega: value },
          ),
        );
      }
    }),
    { seed: 8 },
  );
});

test('raising ω never lets a less verified answer overtake a more verified one of equal count', () => {
  fc.assert(
    fc.property(group, omega, omega, (ballots, x, y) => {
      const [low, high] = x <= y ? [x, y] : [y, x];
      const order = (value: number): Map<string, number> =>
        new Map(tally(ballots, { ...plain, omega: value }).answers.map((a) => [a.key, a.mass]));
      const answers = tally(ballots, plain).answers;
      const before = order(low);
      const after = order(high);
      for (const a of answers) {
        for (const b of answers) {
          const equalCount = a.verified + a.unverified === b.verified + b.unverified;
          if (!equalCount || a.verified <= b.verified) continue;
          assert.ok((before.get(a.key) ?? 0) >= (before.get(b.key) ?? 0));
          assert.ok((after.get(a.key) ?? 0) >= (after.get(b.key) ?? 0));
        }
      }
      // Nor does a winner at a higher ω have fewer verified votes than the winner at a lower one.
      const verified = (value: number): number =>
        tally(ballots, { ...plain, omega: value }).winner?.verified ?? 0;
      assert.ok(verified(high) >= verified(low));
    }),
    { seed: 9 },
  );
});
