/** The options of a question: which letters exist, and which option a text names. */
import { canonical } from '../equal.js';

export interface Options {
  readonly count: number;
  /** Comparable texts; empty when only the number of options is known. */
  readonly texts: readonly string[];
  /** Length of the longest text as given. */
  readonly longest: number;
  /** Mathematical keys of the texts, made when first needed. */
  readonly keys: () => readonly (string | null)[];
}

/** Prepares the options for comparison. */
export function optionsOf(options: readonly string[] | number): Options {
  if (typeof options === 'number')
    return { count: Math.min(26, options), texts: [], longest: 0, keys: () => [] };
  let keys: (string | null)[] | undefined;
  return {
    count: Math.min(26, options.length),
    texts: options.map(comparable),
    longest: Math.min(longest, Math.max(0, ...options.map((option) => option.length))),
    keys: () => (keys ??= options.map((option) => canonical(option))),
  };
}

/** The letter when the question has such an option, else null. */
export function valid(letter: string, options: Options): string | null {
  const index = letter.toUpperCase().charCodeAt(0) - 65;
  return index >= 0 && index < options.count ? letter.toUpperCase() : null;
}

/** Without LaTeX wrappers, emphasis and quotes, in one form of each sign and letter. */
export function unwrapped(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\\(?:text\w*|mathrm|mathbf|boxed)\s*\{|\\[()[\],;! ]|[*_`$"“”{}]/g, (mark) =>
      /^\\[,; ]$/.test(mark) ? ' ' : '',
    );
}

/** Lower case, without LaTeX wrappers, emphasis, quotes, doubled spaces and punctuation at the end. */
function comparable(text: string): string {
  return unwrapped(text)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .join(' ')
    .replace(/(?<![.,;:])[.,;:]{1,3}$/, '');
}

/** Longer texts name no option; longer formulas are not compared by value. */
const longest = 2000;
const longestFormula = 200;

/** A text that says something of its value (`the force equals 24 N`, `F = 24`). */
const sentence = /=|\p{L}{3,}[^\d\\]*\s[\d\\$(]/u;

function closed(text: string): string {
  return text.replaceAll(' ', '');
}

/**
 * The letter of the one option that the text is, by words or by value; null when none or several are.
 * @param bare whether the text must be the value alone, without a name or a sentence around it
 */
export function optionNamed(text: string, options: Options, bare = false): string | null {
  if (options.texts.length === 0 || text.length > longest) return null;
  const plain = comparable(text);
  if (plain === '') return null;
  const byText =
    unique(options.texts.map((option) => option === plain)) ??
    unique(options.texts.map((option) => closed(option) === closed(plain)));
  if (byText !== null) return byText;
  const key = text.length <= longestFormula && !(bare && sentence.test(text)) ? canonical(text) : null;
  return key === null ? null : unique(options.keys().map((option) => option === key));
}

/** The letter of the longest option that the text begins with, when it ends there at a word's end. */
export function optionAtStart(text: string, options: Options): string | null {
  if (options.texts.length === 0) return null;
  const plain = comparable(text.slice(0, options.longest + 40)).replace(
    /^(?:that|the option|option|simply|just)\s+/,
    '',
  );
  const fits = options.texts.map((option) => option.length > 1 && startsWithWord(plain, option));
  const length = Math.max(...options.texts.map((option, k) => (fits[k] ? option.length : 0)));
  return unique(options.texts.map((option, k) => fits[k] === true && option.length === length));
}

function startsWithWord(text: string, start: string): boolean {
  if (!text.startsWith(start)) return false;
  return !/^(?:[\p{L}\p{N}^/*+%°]|[.,]\d|\s*[-+*/=^]|\s+(?:or|and)\s)/u.test(
    text.slice(start.length, start.length + 6),
  );
}

function unique(hits: readonly boolean[]): string | null {
  const index = hits.indexOf(true);
  return index < 0 || hits.indexOf(true, index + 1) >= 0 ? null : String.fromCharCode(65 + index);
}
