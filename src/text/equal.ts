/** Decides whether two answers mean the same: one canonical key for votes and rewards, and a judge for evaluation. */
import { boxes } from './box.js';
import { usual } from './equal/cursor.js';
import { type Meaning, meaningOf } from './equal/meaning.js';
import { same } from './equal/same.js';

/** How `equal` judges. */
export interface EqualOptions {
  /** Also accept an inequality for an interval that names no unknown (`0<x<1` for `(0,1)`); default false. */
  symmetric?: boolean;
}

/**
 * The key of an answer's meaning: two answers are equivalent when their keys are equal. The name of a single
 * assignment and units after a number are dropped. Integers are exact; other numbers are rounded to 6 decimals
 * (7 digits below 1e-3). Null: absent, undefined (`1/0`) or unreadable.
 */
export function canonical(answer: string): string | null {
  return meaningOf(stated(answer)).key;
}

/**
 * Whether a prediction means the same as the gold answer; false when either is absent or unreadable. Directional:
 * a predicted interval answers a gold inequality, but a predicted inequality does not answer a gold interval.
 * Two assignments keep their names. Never throws; model text is never evaluated as code.
 */
export function equal(gold: string, prediction: string, options: EqualOptions = {}): boolean {
  const [goldText, predictionText] = [stated(gold), stated(prediction)];
  const g = meaningOf(goldText);
  if (g.key === null) return false;
  const p = meaningOf(predictionText);
  if (p.key === null) return false;
  if (judged(g, p, options)) return true;
  if (severalItems(g) && groupedDigits.test(predictionText)) {
    return judged(g, meaningOf(predictionText, { ...usual, grouped: false }), options);
  }
  if (!letterUnit.test(goldText) && !letterUnit.test(predictionText)) return false;
  const factors = { ...usual, letterUnits: false };
  return judged(meaningOf(goldText, factors), meaningOf(predictionText, factors), options);
}

/** A letter after a number and a space is a unit or a factor; both readings are tried. */
const letterUnit = /\d [A-Za-z]\s*(?:$|[\^/])/;
/** Where the gold answer is a list, `60,120` may be one too. */
const groupedDigits = /\d,\d{3}(?!\d)/;

function severalItems({ value }: Meaning): boolean {
  return value !== null && (value.t === 'list' || value.t === 'set') && value.items.length > 1;
}

function judged(g: Meaning, p: Meaning, options: EqualOptions): boolean {
  if (g.key === null || p.key === null) return false;
  if (g.name !== null && p.name !== null && g.name !== p.name) return sameEquation(g, p);
  if (!options.symmetric && isInterval(g) && p.form === 'relation' && p.name !== null) return false;
  return g.key === p.key || sameEquation(g, p) || same(g, p);
}

/** An interval that names no unknown: it does not repeat the question's condition, so neither may the prediction. */
function isInterval({ name, value }: Meaning): boolean {
  return name === null && value !== null && /^(?:tuple|union|intersection|without|domain|add)$/.test(value.t);
}

/** Two equations that are the same up to a constant factor; at least one is no assignment to another name. */
function sameEquation(g: Meaning, p: Meaning): boolean {
  if (g.equation === null || p.equation === null) return false;
  const key = g.equation();
  return key !== null && key === p.equation();
}

/** What the last box of a reply holds (boxes joined by commas, and, or together), or the reply itself when it has none. */
function stated(answer: string): string {
  if (!answer.includes('\\boxed') && !answer.includes('\\fbox')) return orderless(answer);
  return orderless(boxes(answer));
}

/** `Ava is a knight` and the like. */
const assertion = /^\w+ is an? \w+$/;

/** Statements that say what several subjects are (`Ava is a knight, Ben is a knave`) say the same in any order. */
function orderless(answer: string): string {
  if (answer.length > 2000 || !answer.includes(' is a')) return answer;
  const parts = answer.replace(/[.;]\s*$/, '').split(/\s*,\s*(?:and\s+)?|\s+and\s+/);
  return parts.length > 1 && parts.every((part) => assertion.test(part.trim()))
    ? parts
        .map((part) => part.trim())
        .sort()
        .join(', ')
    : answer;
}
