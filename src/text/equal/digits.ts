/** Reads the digits of a number with the separators that different habits put between them. */

/** Separators of groups of three: `1,000`, `1{,}000`, `1\\,000`, `1 000`. */
const grouped =
  /\d{1,3}(?:(?:,|\{,\}|\{,\}\\!|,\\! ?|\\,|,\\,|\\ |~|\{\\,\}| )\d{3}){1,12}(?!\d|,\d)(?:\.\d+)?/y;
/** A comma before decimals: `3{,}14`, and `0,125`, which cannot be a group. */
const decimalComma = /(\d+)\{,\}(\d+)|(0),(\d{3})(?![\d,])/y;
/** Full stops between groups: `1.234.567`. */
const stopped = /\d{1,3}(?:\.\d{3}){2,6}(?![\d.])(?:,\d+)?/y;
const decimal = /(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+(?![\d.]))?/y;

/** The number's plain digits, and how many characters of the text they take. */
export interface Digits {
  readonly digits: string;
  readonly length: number;
}

/**
 * The number that begins at a place where there is a digit, or a point before one.
 * @param where whether commas separate items there, and whether they may join groups of three digits at all
 */
export function numberAt(text: string, at: number, where: { inList: boolean; groups: boolean }): Digits {
  const groups = groupsAt(text, at, where);
  if (groups !== null) return { digits: groups.replace(/[^\d.]/g, ''), length: groups.length };
  const comma = matchAt(decimalComma, text, at);
  if (comma !== null && !(where.inList && comma[3] !== undefined)) {
    return { digits: `${comma[1] ?? comma[3]}.${comma[2] ?? comma[4]}`, length: comma[0].length };
  }
  const stops = where.inList ? null : matchAt(stopped, text, at);
  if (stops !== null)
    return { digits: stops[0].replaceAll('.', '').replace(',', '.'), length: stops[0].length };
  const digits = matchAt(decimal, text, at)?.[0] ?? text[at]!;
  return { digits, length: digits.length };
}

/** A number in groups of three digits, or null. Inside brackets a bare comma separates items, unless others carry a space. */
function groupsAt(
  text: string,
  at: number,
  { inList, groups }: { inList: boolean; groups: boolean },
): string | null {
  const found = matchAt(grouped, text, at)?.[0];
  if (found === undefined || found.startsWith('0') || (!groups && /\d,\d/.test(found))) return null;
  const isMixed = / /.test(found) && /^\s*[/\\]/.test(text.slice(at + found.length, at + found.length + 8));
  if (isMixed) return null;
  if (!inList || !/\d,\d/.test(found) || /,0/.test(found)) return found;
  const nearby = text.slice(Math.max(0, at - 100), at + 100);
  return /, /.test(nearby) && !/[)\]}],/.test(nearby) ? found : null;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
