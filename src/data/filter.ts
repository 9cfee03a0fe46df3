/** Named filter rules over questions: what is dropped, why, how often, and what is only reported. */

import { invalidValue } from '../errors.js';
import { holdsControlText } from '../text/added.js';
import { refuseReference } from '../text/patch.js';
import { promptParts, type Template } from '../text/template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { findOverlaps, normalizeText, type Overlap } from './overlap.js';
import type { Question } from './question.js';

/** Rules that drop a question. The first that applies, in this order, counts it. */
export const DROP_RULES = [
  'category',
  'empty answer',
  'tag in answer',
  'long answer',
  'long prompt',
  'duplicate',
  'overlap',
] as const;
export type DropRule = (typeof DROP_RULES)[number];

export interface FilterOptions {
  tokenizer?: Tokenizer;
  template: Template;
  /** Most tokens of a reference answer; needs a tokenizer. */
  maxAnswerTokens?: number;
  /** Most tokens of the final prompt, template included; needs a tokenizer. */
  maxPromptTokens?: number;
  /** Categories to keep, by exact name ('' for rows without one). */
  categories?: readonly string[];
  /** Drop questions that repeat an earlier one (text and answers, but for spacing). */
  duplicates?: boolean;
  /** Questions that must not appear (an evaluation set). */
  against?: readonly Question[];
}

export interface Dropped {
  question: Question;
  rule: DropRule;
  detail: string;
}

export interface FilterResult {
  kept: Question[];
  dropped: Dropped[];
  /** Rows by rule, every rule listed. */
  counts: Record<DropRule, number>;
  /** Kept rows whose question holds the text of a control token; it is encoded as plain characters. */
  controlText: Question[];
  /** Matched pairs with `against`; those of kind numbers-changed are reported and kept. */
  overlaps: Overlap[];
  /** Rows by category, before and after. */
  categories: CategoryCount[];
}

/** Applies the rules. A question keeps those of its answers that pass; it is dropped when none does. */
export async function filterQuestions(
  questions: readonly Question[],
  options: FilterOptions,
): Promise<FilterResult> {
  for (const name of ['maxAnswerTokens', 'maxPromptTokens'] as const) {
    if (options[name] !== undefined && !options.tokenizer) {
      throw invalidValue(name, 'a tokenizer to count with', 'none', { hint: 'name a model: --model PATH' });
    }
  }
  const lengths = await tokenLengths(questions, options);
  const overlaps = options.against ? findOverlaps(questions, options.against) : [];
  const overlapping = new Map(overlaps.map((overlap) => [overlap.question, overlap]));
  const seen = new Map<string, Question>();
  const kept: Question[] = [];
  const dropped: Dropped[] = [];
  for (const [i, question] of questions.entries()) {
    const answers = keepAnswers(question, lengths.answers[i] ?? [], options);
    const verdict =
      categoryVerdict(question, options) ??
      ('rule' in answers ? answers : undefined) ??
      promptVerdict(lengths.prompts[i], options) ??
      duplicateVerdict(question, seen, options) ??
      overlapVerdict(overlapping.get(question));
    if (verdict) dropped.push({ question, ...verdict });
    else kept.push({ ...question, ...answers });
  }
  const counts = Object.fromEntries(
    DROP_RULES.map((rule) => [rule, dropped.filter((row) => row.rule === rule).length]),
  ) as Record<DropRule, number>;
  const { tokenizer } = options;
  const controlText = tokenizer
    ? kept.filter((q) => holdsControlText(q.question, tokenizer.added) !== undefined)
    : [];
  return { kept, dropped, counts, controlText, overlaps, categories: categoryTable(questions, kept) };
}

/** Rows of one category, before and after a filter. */
export interface CategoryCount {
  /** '(none)' for rows without one. */
  category: string;
  before: number;
  after: number;
}

/** Rows by category, in the order of first appearance. */
export function categoryTable(
  before: readonly Question[],
  after: readonly Question[] = before,
): CategoryCount[] {
  const table = new Map<string, CategoryCount>();
  const rowOf = ({ category }: Question): CategoryCount => {
    const name = category.trim() === '' ? '(none)' : category;
    const row = table.get(name) ?? { category: name, before: 0, after: 0 };
    table.set(name, row);
    return row;
  };
  for (const question of before) rowOf(question).before++;
  for (const question of after) rowOf(question).after++;
  return [...table.values()];
}

/** Tokens of every prompt as the model will get it, and of every reference answer on its own. */
export async function tokenLengths(
  questions: readonly Question[],
  { tokenizer, template }: Pick<FilterOptions, 'tokenizer' | 'template'>,
): Promise<{ prompts: number[]; answers: number[][] }> {
  if (!tokenizer) return { prompts: [], answers: [] };
  const prompts = await tokenizer.encodePrompts(
    questions.map(({ question }) => promptParts(template, question)),
  );
  const flat = await tokenizer.encodeData(questions.flatMap(({ answers }) => answers));
  let next = 0;
  return {
    prompts: prompts.map((ids) => ids.length),
    answers: questions.map(({ answers }) => answers.map(() => (flat[next++] as Int32Array).length)),
  };
}

type Dropping = { rule: DropRule; detail: string };
type Verdict = Dropping | undefined;

function categoryVerdict({ category }: Question, { categories }: FilterOptions): Verdict {
  if (!categories || categories.includes(category)) return undefined;
  return { rule: 'category', detail: `category ${JSON.stringify(category)}` };
}

/** The answers that pass, or why none does. */
function keepAnswers(
  { answers }: Question,
  lengths: number[],
  { template, maxAnswerTokens = Number.POSITIVE_INFINITY }: FilterOptions,
): Dropping | { answers: string[] } {
  if (answers.every((answer) => answer.trim() === ''))
    return { rule: 'empty answer', detail: 'no reference answer' };
  const clean = answers.flatMap((answer, i) => (refuseReference(template, answer) === null ? [i] : []));
  if (clean.length === 0) {
    return { rule: 'tag in answer', detail: refuseReference(template, answers[0] as string) as string };
  }
  const short = clean.filter((i) => (lengths[i] ?? 0) <= maxAnswerTokens);
  if (short.length === 0) {
    const least = Math.min(...clean.map((i) => lengths[i] as number));
    return { rule: 'long answer', detail: `${least} tokens, at most ${maxAnswerTokens} allowed` };
  }
  return { answers: short.map((i) => answers[i] as string) };
}

function promptVerdict(length: number | undefined, { maxPromptTokens }: FilterOptions): Verdict {
  if (length === undefined || maxPromptTokens === undefined || length <= maxPromptTokens) return undefined;
  return {
    rule: 'long prompt',
    detail: `${length} tokens with template, at most ${maxPromptTokens} allowed`,
  };
}

function duplicateVerdict(
  question: Question,
  seen: Map<string, Question>,
  { duplicates }: FilterOptions,
): Verdict {
  if (duplicates === false) return undefined;
  const key = `${normalizeText(question.question)}\u0000${[...question.answers].sort().join('\u0000')}`;
  const first = seen.get(key);
  if (first === undefined) {
    seen.set(key, question);
    return undefined;
  }
  return { rule: 'duplicate', detail: `repeats row ${first.line}` };
}

function overlapVerdict(overlap: Overlap | undefined): Verdict {
  if (!overlap || overlap.kind === 'numbers-changed') return undefined;
  return { rule: 'overlap', detail: `${overlap.kind} match with row ${overlap.match.line} of the other set` };
}
