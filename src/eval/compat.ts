/** Other harnesses' rules on saved replies, their guessing included, so that published figures can be compared. */

import { PURPOSE, uniformAt } from '../random.js';
import type { CompatScore, ReplyRow } from '../run/evaluation.js';
import { extractBoxed } from '../text/answer.js';
import { equal } from '../text/equal.js';
import { statedAnswer } from './stated.js';

export const COMPAT_RULES = ['general-reasoner', 'mmlu-pro', 'lm-eval', 'supergpqa'] as const;
export type CompatRule = (typeof COMPAT_RULES)[number];

const TEN = 'ABCDEFGHIJ';

/** What a rule makes of a choice: a letter, a draw among the first `guess` letters, or nothing (wrong). */
type Choice = { letter: string } | { guess: number } | null;

/** Scores by metric name; a rule that has a strict and a flexible form gives both. */
export function compatScores(
  rule: CompatRule,
  rows: readonly ReplyRow[],
  seed: number,
): Record<string, CompatScore> {
  const forms: Record<string, (row: ReplyRow) => Choice | boolean> =
    rule === 'lm-eval'
      ? { 'lm-eval': (row) => lmEval(row, true), 'lm-eval-flexible': (row) => lmEval(row, false) }
      : { [rule]: (row) => (row.judge === 'choice' ? choiceBy(rule, row) : freeBy(row)) };
  return Object.fromEntries(
    Object.entries(forms).map(([name, judge]) => [name, scoreForm(rows, seed, judge)]),
  );
}

function scoreForm(
  rows: readonly ReplyRow[],
  seed: number,
  judge: (row: ReplyRow) => Choice | boolean,
): CompatScore {
  let [right, missed, guessed] = [0, 0, 0];
  for (const row of rows) {
    const found = judge(row);
    if (found === true) right++;
    if (typeof found === 'boolean') continue;
    if (found === null) missed++;
    else if ('guess' in found) {
      missed++;
      guessed++;
      if (row.answers.includes(drawn(row, seed, found.guess))) right++;
    } else if (row.answers.includes(found.letter)) right++;
  }
  const n = Math.max(1, rows.length);
  return { accuracy: right / n, missed: missed / n, guessed: guessed / n };
}

/** A letter drawn uniformly: one stream a reply, apart from the sampler's. */
function drawn(row: ReplyRow, seed: number, letters: number): string {
  const stream = {
    seed,
    purpose: PURPOSE.evaluation,
    step: 1,
    occurrence: row.index,
    sample: row.sample,
  };
  return TEN[Math.floor(uniformAt(stream, 0) * letters)]!;
}

function choiceBy(rule: CompatRule, row: ReplyRow): Choice {
  if (rule === 'general-reasoner') return generalReasoner(row.text);
  if (rule === 'mmlu-pro') return mmluPro(row);
  return superGpqa(row);
}

/** Free answers: these harnesses ask for a box and judge its content. */
function freeBy(row: ReplyRow): boolean | null {
  const answer = extractBoxed(row.text);
  return answer === null ? null : row.answers.some((gold) => equal(gold, answer));
}

/** Last box, else the line after "Final Answer:", else after "The answer is:"; the first of A to J that occurs in it. */
function generalReasoner(text: string): Choice {
  const said = extractBoxed(text) ?? lineAfter(text, 'Final Answer:') ?? lineAfter(text, 'The answer is:');
  const letter = said === null ? undefined : [...TEN].find((each) => said.includes(each));
  return letter === undefined ? { guess: TEN.length } : { letter };
}

function lineAfter(text: string, words: string): string | null {
  const at = text.lastIndexOf(words);
  return at < 0
    ? null
    : text
        .slice(at + words.length)
        .trimStart()
        .split('\n', 1)[0]!;
}

/** First "answer is (X)", else the last "answer: X" of the first line that has one, else the last letter A to J. */
function mmluPro(row: ReplyRow): Choice {
  const { text } = row;
  const stated = /answer is \(?([A-J])\)?/.exec(text)?.[1];
  if (stated !== undefined) return { letter: stated };
  for (const line of text.split('\n')) {
    const found = [...line.matchAll(/[aA]nswer:\s*([A-J])/g)].at(-1)?.[1];
    if (found !== undefined) return { letter: found };
  }
  for (let at = text.length - 1; at >= 0; at--) if (TEN.includes(text[at]!)) return { letter: text[at]! };
  return { guess: Math.max(1, row.options?.length ?? TEN.length) };
}

/** Choices: strict is the first "answer is (X)", flexible the last "(X)". Free answers: "#### n", and the last number. */
function lmEval(row: ReplyRow, strict: boolean): Choice | boolean {
  const { text } = row;
  if (row.judge === 'choice') {
    const letter = strict
      ? /answer is \(?([A-J])\)?/.exec(text)?.[1]
      : [...text.matchAll(/\(([A-J])\)/g)].at(-1)?.[1];
    return letter === undefined ? null : { letter };
  }
  const answer = strict
    ? (/####\s*(-?[\d.,]+)/.exec(text)?.[1] ?? (text.includes('\\boxed') ? null : statedFinal(text)))
    : ([...text.matchAll(/-?\$?\d[\d.,]*/g)].at(-1)?.[0] ?? null);
  if (answer === null) return null;
  const plain = (value: string) => value.replace(/[$,]/g, '').replace(/\.$/, '');
  return row.answers.some((gold) => equal(gold, plain(answer)));
}

/** The sentence that the Minerva prompt teaches. */
function statedFinal(text: string): string | null {
  return text.includes('The final answer is') ? statedAnswer(text) : null;
}

/** Repeats are bounded, so that no reply takes long. */
const DRESS = String.raw`[*$\\{(\[]{0,12}(?:(?:boxed|mathbf|mathrm|text)\{){0,3}\s{0,8}`;

/** Statements on the last line, then anywhere; letters in lower case are found and count as wrong. No guessing. */
function superGpqa(row: ReplyRow): Choice {
  const letters = TEN.slice(0, Math.max(4, row.options?.length ?? TEN.length));
  const end = String.raw`[\\}$)\]]{0,12}(?:[\s:.*)]|$)`;
  const text = row.text.split('Question:')[0]!.trimEnd().slice(-20_000);
  const last = text.slice(text.lastIndexOf('\n') + 1);
  const patterns = (what: string) => [
    new RegExp(
      String.raw`the\s{1,8}(?:\w{1,30}\s{1,8})?(?:answer|option)\s{1,8}(?:\w{1,30}\s{1,8})?is:?\s{0,8}${DRESS}(${what})${end}`,
      'i',
    ),
    new RegExp(String.raw`answer[*\s]{0,8}:\s{0,8}${DRESS}(${what})${end}`, 'i'),
    new RegExp(String.raw`^[^\w\n]{0,20}${DRESS}(${what})${end}`, 'i'),
  ];
  for (const where of [last, text]) {
    for (const pattern of patterns(`[${letters}]`)) {
      const letter = pattern.exec(where)?.[1];
      if (letter !== undefined) return { letter };
    }
  }
  const options = row.options ?? [];
  const texts = options.map((option) => option.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  if (texts === '') return null;
  for (const where of [last, text]) {
    for (const pattern of patterns(texts)) {
      const found = pattern.exec(where)?.[1];
      const index = found === undefined ? -1 : options.indexOf(found);
      if (index >= 0) return { letter: TEN[index] ?? '' };
    }
  }
  return null;
}
