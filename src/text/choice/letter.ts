/** Reads the letter of an option at a place in a text, and tells it from articles, pronouns, names and hedges. */

/** A letter that is stated; `several` when others stand beside it. */
export interface Letter {
  readonly letter: string;
  readonly several: boolean;
  readonly end: number;
}

const opener =
  /(?:[\s*_`"'“‘«$([{<~]|\\[([]|\\(?:text(?:bf|it|rm)?|mathrm|mathbf|boxed|fbox|bf|rm)\s*\{?|\\(?=\s))*/y;
const label = /(?:(?:option|choice|letter|answer|alternative|number|statement)s?\b[\s*_:`"'([{$]*)?/iy;
const closer = /[*_`"'”’»$)\]}>\\]*/y;
const bracketed = /[*_`"'“‘«$([{<]/;

/** Words after a bare letter that show it to be the answer and not the beginning of a phrase. */
const explains =
  /^\s*(?:[-–—,;:]\s*)?(?:because|since|as|which|due|given|based|for|so|by|is|was|that|where|when|while|with|from|after|although|though|but|hence|thus|here|not|in|on|at|among|according|considering|rather|instead|if|the|and\s+(?:not|the|it|this)|i\.e|i think|i believe)\b/i;
const explainsArticle =
  /^\s*(?:[-–—,;:]\s*)?(?:because|since|as it|as the|which|due to|given that|based on|is (?:the )?(?:correct|right|best))\b/i;
const another =
  /^\s*(?:,?\s*(?:or|and|&|\/|nor|and\/or)|[,/])\s*(?:also\s+|possibly\s+|maybe\s+)?(?:option\s+|choice\s+)?[*_`"'([{$]*([A-Z])[*_`"')\]}$]*(?=\s*(?:[.,;:!?)/]|$|\n|or\b|and\b|&|are\b|is\b|both\b|could\b|would\b|depending\b))/;

/** The letter at `at`, after emphasis, brackets, LaTeX and a word such as `option`; null when no letter is meant there. */
export function letterAt(text: string, at: number, tight: boolean): Letter | null {
  const first = skip(opener, text, at);
  const named = skip(label, text, first);
  const start = named === first ? first : skip(opener, text, named);
  const c = text[start] ?? '';
  if (!/[A-Za-z]/.test(c)) return null;
  const isBracketed =
    start > 0 && bracketed.test(text[start - 1]!) && closes(text[start - 1]!, text[start + 1] ?? '');
  const end = skip(closer, text, start + 1);
  const rest = text.slice(end, end + 60);
  const closed = /[)\]}]/.test(text.slice(start + 1, end));
  if (
    !isBracketed &&
    !(closed && /[A-Z]/.test(c)) &&
    !bare(c, text[start + 1] ?? '', rest, tight, named !== first)
  )
    return null;
  if (/^\s*\?/.test(rest)) return null;
  if (isBracketed && /^\s*(?:is|are|was)\s+(?:not|wrong|incorrect|false)\b/i.test(rest)) return null;
  return { letter: c, several: another.test(rest), end };
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

const partners: Readonly<Record<string, string>> = {
  '(': ')',
  '[': ']',
  '{': '}',
  '<': '>',
  '“': '”',
  '‘': '’',
  '«': '»',
};

/** Whether what stands after the letter closes what stands before it; emphasis may close later. */
function closes(before: string, after: string): boolean {
  const partner = partners[before];
  return partner === undefined
    ? after === before || (/[*_]/.test(before) && /[.):\s]/.test(after))
    : after === partner || (partner === '}' && after === ')');
}

function bare(c: string, next: string, rest: string, tight: boolean, named: boolean): boolean {
  if (
    /[\p{Script=Latin}\p{Script=Cyrillic}\p{N}'’+^_&]/u.test(next) ||
    /^-\p{L}/u.test(`${next}${rest.slice(1, 2)}`)
  )
    return false;
  if (/^\s*[=+<>]/.test(rest) || /^-[\p{L}\p{N}]/u.test(rest)) return false;
  const ends =
    rest.trim() === '' ||
    /^\s*[\n.,;:)\]!|–—。，、；\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}]/u.test(rest) ||
    /^\s*[-/]\s/.test(rest) ||
    /^\s*\(/.test(rest);
  if (/[a-z]/.test(c))
    return tight && (rest.trim() === '' || /^[ \t]*(?:\n|[.,;)]\s*(?:$|\n|[A-Z]))/.test(rest));
  if (ends) return !/^\.\s?[a-z]/.test(rest) || c !== 'E';
  if ((c === 'A' || c === 'I') && !named)
    return explainsArticle.test(rest) || /^\s*(?:or|and)\s+[B-Z]\b/.test(rest);
  return explains.test(rest) || /^\s+[A-Z]/.test(rest) || another.test(rest);
}

const alone =
  /^[\s*_`"'“‘($[{<]*(?:\\(?:text(?:bf|it|rm)?|mathrm|mathbf|[([])\s*\{?[({]?)*\s*(?:(?:option|choice|answer|letter)\s*[:(]?\s*)?([A-Za-z])[*_`"'”’)$\]}>.\s\\]*$/i;

/** The letter that a line, box or whole reply consists of; null when it holds more. */
export function letterAlone(text: string): string | null {
  const line = text.trim();
  return line.length > 60 ? null : (alone.exec(line)?.[1] ?? null);
}

const labelled =
  /^\s*(?:(?:option|choice|answer|letter)\s*:?\s*)?[([<]?([A-Za-z])(?:[)\]>]?\s*[).\]:,–—-]+\s*|\)?\s+(?=[^a-z]))(\S[^\n]*)$/iu;

/** A letter with a text behind it, such as `C. 24 N`, of a line without wrappers; null when the line is none. */
export function letterWithText(line: string): { letter: string; rest: string } | null {
  const match = line.length > 2000 ? null : labelled.exec(line);
  return match === null ? null : { letter: match[1]!, rest: match[2]!.replace(/^\((.*)\)$/, '$1') };
}
