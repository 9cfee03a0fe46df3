/** What a vote and a verifier were worth: pure counts over questions, each share with its denominator (never used in training). */

import { type Tally, type VerdictValue, voteRewards } from './tally.js';

/** A share with its parts: `hits` of `of`; `value` is null when nothing could be counted. */
export interface Share {
  hits: number;
  of: number;
  value: number | null;
}

/** One question after its vote. */
export interface VotedQuestion {
  tally: Tally;
  /** Canonical answer keys of all samples, in sample order. */
  keys: readonly (string | null)[];
  verdicts: readonly VerdictValue[];
  /** How many of the samples, from the first, are trained on. */
  kept: number;
  /** Canonical key of the reference answer; null when none is known. */
  gold: string | null;
}

export interface LabelFlips {
  flips: Share;
  /** Of the flips on questions with a known answer. */
  wrongToRight: number;
  rightToWrong: number;
  wrongToWrong: number;
}

/** Verdicts against gold over answered samples; missing verdicts stand aside. */
export interface VerifierScore {
  truePositive: number;
  falsePositive: number;
  falseNegative: number;
  trueNegative: number;
  missing: number;
  accuracy: number | null;
  precision: number | null;
  recall: number | null;
  f1: number | null;
}

/** `hits` of `of` as a Share. */
export function share(hits: number, of: number): Share {
  return { hits, of, value: of === 0 ? null : hits / of };
}

/** Unbiased pass@k of one question with `right` of `samples` right: 1 − C(n−c, k)/C(n, k). Needs 1 ≤ k ≤ n. */
export function passAtK(samples: number, right: number, k: number): number {
  if (!(k >= 1 && k <= samples)) throw new RangeError(`Expected k from 1 to ${samples} but received ${k}`);
  if (samples - right < k) return 1;
  let miss = 1;
  for (let i = samples - right + 1; i <= samples; i++) miss *= 1 - k / i;
  return 1 - miss;
}

/** Mean unbiased pass@k over questions whose answer is known and that have k samples. */
export function meanPassAtK(questions: readonly VotedQuestion[], k: number): number | null {
  const known = questions.filter((question) => question.gold !== null && question.keys.length >= k);
  if (known.length === 0) return null;
  return total(known, (q) => passAtK(q.keys.length, rewardSum(q.keys, q.gold), k)) / known.length;
}

/** Questions whose label is the known answer; a question without a label counts as wrong. */
export function labelAccuracy(questions: readonly VotedQuestion[]): Share {
  const known = withGold(questions);
  return share(known.filter((q) => q.tally.label === q.gold).length, known.length);
}

/** Samples whose pseudo-reward equals the reward that the known answer would give: sample against label, not label against gold. */
export function rewardAccuracy(questions: readonly VotedQuestion[], part: 'all' | 'kept'): Share {
  let hits = 0;
  let of = 0;
  for (const question of withGold(questions)) {
    const keys = part === 'kept' ? question.keys.slice(0, question.kept) : question.keys;
    const pseudo = voteRewards(keys, question.tally.label);
    const real = voteRewards(keys, question.gold);
    hits += pseudo.filter((reward, i) => reward === real[i]).length;
    of += keys.length;
  }
  return share(hits, of);
}

/** Kept groups whose rewards are all equal, so that their advantages are 0; skipped questions are in neither number. */
export function zeroVariance(questions: readonly VotedQuestion[]): Share {
  const used = questions.filter((question) => question.tally.skipped !== 'low agreement');
  const dead = used.filter((question) => {
    const rewards = voteRewards(question.keys.slice(0, question.kept), question.tally.label);
    return rewards.every((reward) => reward === rewards[0]);
  });
  return share(dead.length, used.length);
}

/** Questions whose winner ω changed, over questions with a winner, split by what gold says of both. */
export function labelFlips(questions: readonly VotedQuestion[]): LabelFlips {
  const voted = questions.filter((question) => question.tally.winner !== null);
  const flipped = voted.filter((question) => question.tally.flipped);
  const split = { wrongToRight: 0, rightToWrong: 0, wrongToWrong: 0 };
  for (const { tally, gold } of withGold(flipped)) {
    if (tally.majority === gold) split.rightToWrong++;
    else if (tally.winner?.key === gold) split.wrongToRight++;
    else split.wrongToWrong++;
  }
  return { flips: share(flipped.length, voted.length), ...split };
}

/** Questions whose most frequent answer is wrong, over questions with a winner and a known answer; by plain or weighted count. */
export function falsePopular(questions: readonly VotedQuestion[], votes: 'plain' | 'weighted'): Share {
  const voted = withGold(questions).filter((question) => question.tally.winner !== null);
  const wrong = voted.filter(
    ({ tally, gold }) => (votes === 'plain' ? tally.majority : tally.winner?.key) !== gold,
  );
  return share(wrong.length, voted.length);
}

/** Verified samples over answered samples. */
export function verifiedShare(questions: readonly VotedQuestion[]): Share {
  return share(
    total(questions, (question) => question.tally.verified),
    total(questions, (question) => question.tally.samples - question.tally.unanswered),
  );
}

/** Confusion of verdicts and gold: a true positive is a verified sample whose answer is right. */
export function verifierScore(questions: readonly VotedQuestion[]): VerifierScore {
  const cells = { truePositive: 0, falsePositive: 0, falseNegative: 0, trueNegative: 0, missing: 0 };
  for (const question of withGold(questions)) {
    question.keys.forEach((key, i) => {
      if (key === null || key === '') return;
      const verdict = question.verdicts[i];
      const right = key === question.gold;
      if (verdict === 1) cells[right ? 'truePositive' : 'falsePositive']++;
      else if (verdict === 0) cells[right ? 'falseNegative' : 'trueNegative']++;
      else cells.missing++;
    });
  }
  const { truePositive: tp, falsePositive: fp, falseNegative: fn, trueNegative: tn } = cells;
  return {
    ...cells,
    accuracy: share(tp + tn, tp + fp + fn + tn).value,
    precision: share(tp, tp + fp).value,
    recall: share(tp, tp + fn).value,
    f1: share(2 * tp, 2 * tp + fp + fn).value,
  };
}

/**
 * All measures of one vote as a flat record (names as in RunEvent metrics). What cannot be counted is left out,
 * so that a set without references shows no accuracy rather than 0.
 */
export function voteMetrics(questions: readonly VotedQuestion[], passK: number): Record<string, number> {
  const sumOf = (value: (tally: Tally) => number): number => total(questions, (q) => value(q.tally));
  const mean = (value: (tally: Tally) => number): number | null =>
    share(sumOf(value), questions.length).value;
  const counted = (test: (tally: Tally) => boolean): number => questions.filter((q) => test(q.tally)).length;
  const samples = sumOf((tally) => tally.samples);
  const unanswered = sumOf((tally) => tally.unanswered);
  const gold = withGold(questions);
  const pseudo = total(questions, (q) => rewardSum(q.keys, q.tally.label));
  const right = total(gold, (q) => rewardSum(q.keys, q.gold));
  const flips = labelFlips(questions);
  const verifier = verifierScore(questions);
  const rows: Record<string, number | null> = {
    'vote/majority_share': mean((tally) => tally.majorityShare),
    'vote/agreement': mean((tally) => tally.agreement),
    'vote/entropy': mean((tally) => tally.entropy),
    'vote/unanswered': share(unanswered, samples).value,
    'vote/pseudo_reward': share(pseudo, samples).value,
    'vote/ties': counted((tally) => tally.tie),
    'vote/no_answer': counted((tally) => tally.skipped === 'no answer'),
    'vote/low_agreement': counted((tally) => tally.skipped === 'low agreement'),
    'vote/omega_off': counted((tally) => tally.omegaOff),
    'vote/zero_variance': zeroVariance(questions).value,
    'vote/verified': verifiedShare(questions).value,
    'vote/missing': share(
      sumOf((tally) => tally.missing),
      samples - unanswered,
    ).value,
    'vote/flips': flips.flips.value,
    'vote/label_accuracy': labelAccuracy(questions).value,
    'vote/reward_accuracy': rewardAccuracy(questions, 'all').value,
    'vote/kept_reward_accuracy': rewardAccuracy(questions, 'kept').value,
    'vote/gold_reward': share(
      right,
      total(gold, (q) => q.keys.length),
    ).value,
    [`vote/pass@${passK}`]: meanPassAtK(questions, passK),
    'vote/false_popular': falsePopular(questions, 'plain').value,
    'vote/false_popular_weighted': falsePopular(questions, 'weighted').value,
    'verifier/accuracy': verifier.accuracy,
    'verifier/precision': verifier.precision,
    'verifier/recall': verifier.recall,
    'verifier/f1': verifier.f1,
  };
  if (gold.length > 0) {
    rows['vote/flips_wrong_to_right'] = flips.wrongToRight;
    rows['vote/flips_right_to_wrong'] = flips.rightToWrong;
    rows['vote/flips_wrong_to_wrong'] = flips.wrongToWrong;
  }
  return Object.fromEntries(Object.entries(rows).filter((row): row is [string, number] => row[1] !== null));
}

function withGold(questions: readonly VotedQuestion[]): VotedQuestion[] {
  return questions.filter((question) => question.gold !== null);
}

function rewardSum(keys: readonly (string | null)[], label: string | null): number {
  return total(voteRewards(keys, label), (reward) => reward);
}

function total<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}
