/** Finds the boxes of a reply: `\boxed{…}`, `\fbox{…}`, `\boxed 7`. */

interface Box {
  readonly start: number;
  readonly end: number;
  /** Null when the box is never closed. */
  readonly content: string | null;
}

/** The last box at or before `from`, or null. Linear in the text. */
export function lastBox(text: string, from = text.length): Box | null {
  const start = Math.max(text.lastIndexOf('\\boxed', from), text.lastIndexOf('\\fbox', from));
  if (start < 0) return null;
  let at = start + (text.startsWith('\\boxed', start) ? 6 : 5);
  while (/\s/.test(text[at] ?? '')) at++;
  if (text[at] === '{') return braced(text, start, at);
  const word = /^(?:\\?[A-Za-z0-9.,+-]*[A-Za-z0-9])/.exec(text.slice(at, at + 100))?.[0] ?? '';
  return { start, end: at + word.length, content: word };
}

const backslash = 92;
const openBrace = 123;
const closeBrace = 125;

function braced(text: string, start: number, open: number): Box {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === openBrace) depth++;
    else if (code === closeBrace && --depth === 0)
      return { start, end: at + 1, content: text.slice(open + 1, at) };
  }
  return { start, end: text.length, content: null };
}

/** At most this many boxes in a row are joined. */
const maxJoined = 20;

/** The content of the last box, with those before it that only a comma, `and` or `or` parts from it; '' when unclosed. */
export function boxes(text: string): string {
  const last = lastBox(text);
  if (last === null || last.content === null) return '';
  let joined = last.content;
  let { start } = last;
  for (let count = 1; count < maxJoined && start > 0; count++) {
    const before = lastBox(text, start - 1);
    if (before === null || before.content === null || start - before.end > 30) break;
    const between = text.slice(before.end, start).replace(/[$\s]|\\(?:text|quad|[,; ])|[{}]/g, '');
    if (!/^(?:,|;|and|or|,and|,or)$/.test(between)) break;
    joined = `${before.content}${/or$/.test(between) ? ' or ' : ', '}${joined}`;
    start = before.start;
  }
  return joined;
}
