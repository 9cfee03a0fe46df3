/** Decides whether two answers mean the same: one canonical key for votes and rewards, and a judge for evaluation. */

/** How `equal` judges. */
export interface EqualOptions {
  /** Accept an interval for a relation and a relation for an interval alike (default: only gold relation, predicted interval). */
  symmetric?: boolean;
}

/** The key of an answer's meaning; two answers are equivalent when their keys are equal. Null: absent or unreadable. */
export function canonical(answer: string): string | null {
  const text = answer
    .normalize('NFKC')
    .replace(/\\(left|right|displaystyle|,|!|;| )/g, '')
    .replace(/\\[dtc]frac/g, '\\frac')
    .replace(/\\text\w*\{([^{}]*)\}/g, '$1')
    .replace(/^\s*[\\$]*|[\s$.]*$/g, '')
    .trim();
  if (text === '') return null;
  const plain = text
    .replace(/(\d),(?=\d{3}\b)/g, '$1')
    .replace(/\s*(\\?%|[a-z]{2,})$/, (u) => (u.includes('%') ? u : ''));
  const fraction = /^(-?)\\frac\{?(-?\d+)\}?\{?(\d+)\}?$/.exec(text) ?? /^(-?)(\d+)\/(\d+)$/.exec(text);
  if (fraction) {
    const value = Number(fraction[2]) / Number(fraction[3]);
    return Number.isFinite(value) ? shown(fraction[1] === '-' ? -value : value) : null;
  }
  if (/^[+-]?\d+$/.test(plain)) return BigInt(plain.replace('+', '')).toString();
  if (/^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain)) return shown(Number(plain));
  return `text:${text.replace(/\s+/g, ' ')}`;
}

function shown(value: number): string {
  return String(Number(value.toFixed(6)) + 0);
}

/** Whether a prediction means the same as the gold answer; false when either is absent or unreadable. */
export function equal(gold: string, prediction: string, _options: EqualOptions = {}): boolean {
  const key = canonical(gold);
  return key !== null && key === canonical(prediction);
}
