/** Measures of votes and verifiers on groups small enough to count by hand. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costMetrics, samplingFlops, trainingFlops } from '../../src/verify/cost.js';
import {
  falsePopular,
  labelAccuracy,
  labelFlips,
  passAtK,
  rewardAccuracy,
  type VotedQuestion,
  verifierScore,
  voteMetrics,
  zeroVariance,
} from '../../src/verify/metrics.js';
import { tally, type VerdictValue } from '../../src/verify/tally.js';

function question(
  samples: [string | null, VerdictValue][],
  gold: string | null,
  options: { omega?: number; minAgreement?: number; kept?: number } = {},
): VotedQuestion {
  const keys = samples.map(([key]) => key);
  const verdicts = samples.map(([, verdict]) => verdict);
  const ballots = samples.map(([key, verdict]) => ({ key, verdict }));
  const { omega = 5, minAgreement = 0, kept = samples.length } = options;
  return { keys, verdicts, gold, kept, tally: tally(ballots, { omega, minAgreement, maxMissing: 0.5 }) };
}

/** A popular wrong answer that one verified sample overturns. */
const overturned = question(
  [
    ['7', 0],
    ['7', 0],
    ['9', 1],
    [null, 0],
  ],
  '9',
);
/** A right majority that a false verification overturns. */
const misled = question(
  [
    ['1', 0],
    ['1', 0],
    ['2', 1],
    ['2', 'missing'],
  ],
  '1',
);
/** A right majority, seconded. */
const agreed = question(
  [
    ['4', 1],
    ['4', 0],
    ['4', 1],
    ['5', 0],
  ],
  '4',
);
const unanswered = question(
  [
    [null, 0],
    [null, 0],
    [null, 0],
    [null, 0],
  ],
  '3',
);
const all = [overturned, misled, agreed, unanswered];

test('pass@k is the unbiased estimate', () => {
  assert.equal(passAtK(4, 1, 1), 0.25);
  assert.equal(passAtK(4, 0, 4), 0);
  assert.equal(passAtK(4, 1, 4), 1);
  assert.ok(Math.abs(passAtK(10, 3, 2) - (1 - 21 / 45)) < 1e-15);
  assert.throws(() => passAtK(4, 1, 5), RangeError);
});

test('label accuracy counts a question without a label as wrong', () => {
  assert.deepEqual(labelAccuracy(all), { hits: 2, of: 4, value: 0.5 });
});

test('label accuracy grades the label itself, not a number found in it', () => {
  const fraction = question(
    [
      ['1/2', 0],
      ['1/2', 0],
    ],
    '1/2',
  );
  assert.equal(labelAccuracy([fraction]).value, 1);
  assert.equal(labelAccuracy([question([['1/2', 0]], '2')]).value, 0);
});

test('reward accuracy compares pseudo-reward and gold reward sample by sample (V02)', () => {
  // Scattered wrong answers: the label is wrong, yet 2 of 4 samples get the reward that they deserve.
  const scattered = question(
    [
      ['a', 0],
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ],
    'z',
  );
  assert.equal(labelAccuracy([scattered]).value, 0);
  assert.deepEqual(rewardAccuracy([scattered], 'all'), { hits: 2, of: 4, value: 0.5 });
  assert.deepEqual(rewardAccuracy(all, 'all'), { hits: 4 + 0 + 4 + 4, of: 16, value: 0.75 });
  const half = question(
    [
      ['4', 0],
      ['5', 0],
      ['4', 0],
    ],
    '4',
    { kept: 2, omega: 1 },
  );
  assert.deepEqual(rewardAccuracy([half], 'kept'), { hits: 2, of: 2, value: 1 });
});

test('label flips are split by what gold says of both labels', () => {
  assert.deepEqual(labelFlips(all), {
    flips: { hits: 2, of: 3, value: 2 / 3 },
    wrongToRight: 1,
    rightToWrong: 1,
    wrongToWrong: 0,
  });
});

test('false-popular share before and after weighting', () => {
  assert.deepEqual(falsePopular(all, 'plain'), { hits: 1, of: 3, value: 1 / 3 });
  assert.deepEqual(falsePopular(all, 'weighted'), { hits: 1, of: 3, value: 1 / 3 });
});

test('verifier score leaves missing verdicts and absent answers out', () => {
  const score = verifierScore(all);
  assert.deepEqual(
    [score.truePositive, score.falsePositive, score.falseNegative, score.trueNegative, score.missing],
    [3, 1, 3, 3, 1],
  );
  assert.equal(score.accuracy, 0.6);
  assert.equal(score.precision, 0.75);
  assert.equal(score.recall, 0.5);
  assert.equal(score.f1, 0.6);
});

test('zero-variance groups are counted on the kept samples; skipped questions are in neither number', () => {
  const kept = question(
    [
      ['4', 0],
      ['4', 0],
      ['5', 0],
    ],
    null,
    { kept: 2 },
  );
  const skipped = question(
    [
      ['1', 0],
      ['2', 0],
    ],
    null,
    { minAgreement: 0.9 },
  );
  assert.deepEqual(zeroVariance([kept, agreed, unanswered, skipped]), { hits: 2, of: 3, value: 2 / 3 });
});

test('without references no measure pretends to know the truth', () => {
  const blind = all.map((question) => ({ ...question, gold: null }));
  const names = Object.keys(voteMetrics(blind, 4));
  for (const name of names)
    assert.doesNotMatch(name, /accuracy|false_popular|pass@|gold|precision|recall|f1/);
  const known = voteMetrics(all, 4);
  assert.equal(known['vote/pass@4'], 0.75);
  assert.equal(known['vote/unanswered'], 5 / 16);
  assert.equal(known['vote/majority_share'], (0.5 + 0.5 + 0.75 + 0) / 4);
  assert.equal(known['vote/flips_wrong_to_right'], 1);
  assert.equal(known['vote/missing'], 1 / 11);
});

test('operations are counted by the printed formula', () => {
  const phase = { parameters: 1000, promptTokens: 10, generatedTokens: 30, seconds: 1 };
  const training = { parameters: 1000, trainedTokens: 20, extraForwards: 1, seconds: 2 };
  assert.equal(samplingFlops(phase), 80_000);
  assert.equal(trainingFlops(training), 160_000);
  const rows = costMetrics({ policy: phase, verifier: null, training, executeSeconds: 0.5 });
  assert.equal(rows['cost/policy_flops'], 80_000);
  assert.equal('cost/verifier_flops' in rows, false);
});
