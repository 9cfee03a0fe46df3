/** The weighted vote of T3RL (TTRL at ω = 1): answer keys and verdicts of one question in, its pseudo-label out. Pure. */

import { invalidValue } from '../errors.js';

/** What a tool said of one sample: 1 verified, 0 checked and not verified, 'missing' when it could not be checked. */
export type VerdictValue = 1 | 0 | 'missing';

/** One sample of a question, in sample order. */
export interface Ballot {
  /** Canonical key of the sample's answer; null (or '') when it gave none. */
  key: string | null;
  verdict: VerdictValue;
}

export interface TallyOptions {
  /** Mass of a verified vote: finite and ≥ 1, or Infinity for the exact limit (verified count, then unverified count). */
  omega: number;
  /** Least share of all samples that the winner must have, 0 to 1; below it the question is skipped. */
  minAgreement: number;
  /** Largest share of missing verdicts among answered samples, 0 to 1; above it the question votes with ω = 1. */
  maxMissing: number;
}

/** One answer's votes. */
export interface AnswerCount {
  key: string;
  /** Index of the first sample that gave it: the tie-break. */
  first: number;
  verified: number;
  unverified: number;
  /** n_u + ω·n_v, made once from the counts; Infinity for a verified answer at ω = ∞. */
  mass: number;
}

export interface Tally {
  /** The pseudo-label; null when nobody answered or the question is skipped. */
  label: string | null;
  /** The answer of largest mass, also when agreement is too low to use it. */
  winner: AnswerCount | null;
  skipped: 'no answer' | 'low agreement' | null;
  /** More than one answer had the winning mass; the one with the lowest first index won. */
  tie: boolean;
  /** Winner's count over all samples, unanswered included; 0 when there is none. */
  agreement: number;
  /** The unweighted winner (ω = 1), and whether it was a tie. */
  majority: string | null;
  majorityTie: boolean;
  /** Its count over all samples, unanswered included; 0 when there is none. */
  majorityShare: number;
  /** ω changed the winner. */
  flipped: boolean;
  /** ω was set to 1 because too many verdicts were missing. */
  omegaOff: boolean;
  samples: number;
  unanswered: number;
  /** Among answered samples. */
  verified: number;
  missing: number;
  /** Entropy in nats of the answers' shares among answered samples. */
  entropy: number;
  /** Every answer, by first index. */
  answers: AnswerCount[];
}

/**
 * Read `--omega`: a decimal number ≥ 1, or `inf`.
 * @throws VfError for anything else.
 */
export function parseOmega(text: string): number {
  if (text.trim() === 'inf') return Infinity;
  const value = /^\s*\d+(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 1) || !Number.isFinite(value)) throw badOmega(text);
  return value;
}

/**
 * Count the votes of one question: label = argmax_a Σ_i w_i·1[a_i = a] with w_i = (1 − v_i) + v_i·ω (T3RL eqs. 7 and 8).
 * A sample without an answer never votes; a missing verdict weighs 1. Masses are compared exactly, ω taken as the
 * decimal number that it prints as; equal masses go to the answer whose first sample has the lowest index.
 * @throws VfError when an option is out of its range.
 */
export function tally(ballots: readonly Ballot[], options: TallyOptions): Tally {
  checkOptions(options);
  const answers = countAnswers(ballots);
  const verified = sum(answers, (answer) => answer.verified);
  const answered = sum(answers, countOf);
  const missing = ballots.filter((ballot) => hasAnswer(ballot) && ballot.verdict === 'missing').length;
  const omegaOff = answered > 0 && missing / answered > options.maxMissing;
  const omega = omegaOff ? 1 : options.omega;
  for (const answer of answers) {
    answer.mass = answer.verified === 0 ? answer.unverified : answer.unverified + omega * answer.verified;
  }
  const weighted = elect(answers, omega);
  const plain = elect(answers, 1);
  const agreement = shareOf(weighted.winner, ballots.length);
  const skipped =
    weighted.winner === null ? 'no answer' : agreement < options.minAgreement ? 'low agreement' : null;
  return {
    label: skipped === null ? (weighted.winner?.key ?? null) : null,
    winner: weighted.winner,
    skipped,
    tie: weighted.tie,
    agreement,
    majority: plain.winner?.key ?? null,
    majorityTie: plain.tie,
    majorityShare: shareOf(plain.winner, ballots.length),
    flipped: weighted.winner !== plain.winner,
    omegaOff,
    samples: ballots.length,
    unanswered: ballots.length - answered,
    verified,
    missing,
    entropy: entropyOf(answers, answered),
    answers,
  };
}

/** Reward of each sample against a label (T3RL eq. 9): 1 for the same key, else 0; ω never enters, null never scores. */
export function voteRewards(keys: readonly (string | null)[], label: string | null): number[] {
  return keys.map((key) => (label !== null && key !== null && key !== '' && key === label ? 1 : 0));
}

function countAnswers(ballots: readonly Ballot[]): AnswerCount[] {
  const byKey = new Map<string, AnswerCount>();
  ballots.forEach((ballot, index) => {
    if (ballot.key === null || ballot.key === '') return;
    const known = byKey.get(ballot.key);
    const answer = known ?? { key: ballot.key, first: index, verified: 0, unverified: 0, mass: 0 };
    if (known === undefined) byKey.set(ballot.key, answer);
    if (ballot.verdict === 1) answer.verified++;
    else answer.unverified++;
  });
  return [...byKey.values()];
}

function elect(answers: readonly AnswerCount[], omega: number): { winner: AnswerCount | null; tie: boolean } {
  const compare = massOrder(omega);
  let winner: AnswerCount | null = null;
  let tie = false;
  // Answers stand in order of first index, so only a strictly larger mass takes the lead.
  for (const answer of answers) {
    const order = winner === null ? 1 : compare(answer, winner);
    if (order > 0) winner = answer;
    tie = order > 0 ? false : tie || order === 0;
  }
  return { winner, tie };
}

/** Compares two answers' masses without rounding: with ω = p/q it compares q·n_u + p·n_v, whole numbers. */
function massOrder(omega: number): (a: AnswerCount, b: AnswerCount) => number {
  if (omega === Infinity) return (a, b) => a.verified - b.verified || a.unverified - b.unverified;
  const { p, q } = decimalRatio(omega);
  const scaled = (answer: AnswerCount): bigint => q * BigInt(answer.unverified) + p * BigInt(answer.verified);
  return (a, b) => {
    const difference = scaled(a) - scaled(b);
    return difference > 0n ? 1 : difference < 0n ? -1 : 0;
  };
}

function decimalRatio(value: number): { p: bigint; q: bigint } {
  const [mantissa = '0', exponent = '0'] = String(value).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const power = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return power >= 0 ? { p: digits * 10n ** BigInt(power), q: 1n } : { p: digits, q: 10n ** BigInt(-power) };
}

function checkOptions(options: TallyOptions): void {
  if (!(options.omega >= 1)) throw badOmega(options.omega);
  if (!(options.minAgreement >= 0 && options.minAgreement <= 1)) {
    throw invalidValue('min-agreement', 'a share from 0 to 1', options.minAgreement);
  }
  if (!(options.maxMissing >= 0 && options.maxMissing <= 1)) {
    throw invalidValue('max-missing', 'a share from 0 to 1', options.maxMissing);
  }
}

function badOmega(value: unknown): Error {
  return invalidValue('omega', 'a number of at least 1, or inf', value, {
    hint: 'omega is the mass of a verified vote: 1 is plain majority voting, below 1 it would punish verified answers',
  });
}

function hasAnswer(ballot: Ballot): boolean {
  return ballot.key !== null && ballot.key !== '';
}

function countOf(answer: AnswerCount): number {
  return answer.verified + answer.unverified;
}

function shareOf(answer: AnswerCount | null, samples: number): number {
  return answer === null ? 0 : countOf(answer) / samples;
}

function entropyOf(answers: readonly AnswerCount[], answered: number): number {
  return sum(answers, (answer) => {
    const share = countOf(answer) / answered;
    return share === 1 ? 0 : -share * Math.log(share);
  });
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
