/** Text for terminals: escape sequences made visible, widths by grapheme, cutting. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Text that can do nothing but be read: control characters become visible marks (␛, ␈, \u{9b}), line breaks and tabs stay.
 * Direction overrides and other invisible format characters are shown as code points, but the joiners that emoji need stay.
 */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => {
      const code = mark.codePointAt(0)!;
      if (code < 0x20) return String.fromCodePoint(0x2400 + code);
      return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`;
    },
  );
}

/** As `visible`, on one line: line breaks become ⏎, tabs a space. */
export function oneLine(text: string): string {
  return visible(text).replace(/\n/g, '⏎').replace(/\t/g, ' ');
}

/** Terminal columns of one grapheme: 0, 1 or 2. */
function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0)!;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
  if (/^\p{Mark}/u.test(grapheme) || code === 0x200b || code === 0x200d) return 0;
  if (grapheme.includes('\ufe0f') || /^\p{Emoji_Presentation}/u.test(grapheme)) return 2;
  return isWide(code) ? 2 : 1;
}

/** East Asian Wide and Fullwidth, by block. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18cff],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
];

function isWide(code: number): boolean {
  return WIDE.some(([from, to]) => code >= from && code <= to);
}

/** Terminal columns of a line. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += graphemeWidth(segment);
  return columns;
}

/** The text cut to at most `columns`, with an ellipsis where something was left out. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const step = graphemeWidth(segment);
    if (used + step > columns - 1) break;
    kept += segment;
    used += step;
  }
  return columns < 1 ? '' : `${kept}…`;
}

/** Fills up with spaces to `columns`, on the right or (align 'right') on the left. */
export function pad(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, columns - width(text)));
  return align === 'left' ? text + space : space + text;
}

/** Lines of at most `columns`, broken at spaces where possible; existing breaks stay. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const { segment } of segmenter.segment(line)) {
    const step = graphemeWidth(segment);
    if (used + step > columns && current !== '') {
      const space = current.lastIndexOf(' ');
      const broken = space > 0 && segment !== ' ' ? current.slice(space + 1) : '';
      lines.push(broken === '' ? current.trimEnd() : current.slice(0, space));
      current = broken;
      used = width(broken);
      if (segment === ' ' && current === '') continue;
    }
    current += segment;
    used += step;
  }
  lines.push(current);
  return lines;
}
