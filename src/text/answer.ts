/** Finds the stated answer in a model's reply: the last box, or the letter of a multiple-choice option. */

/**
 * The content of the last `\boxed{…}` (or `\fbox{…}`, `\boxed 7`), trimmed; of nested boxes the inner one.
 * Null when there is no box, or the last one is empty or never closed (a reply cut by the token limit).
 */
export function extractBoxed(text: string): string | null {
  const at = Math.max(text.lastIndexOf('\\boxed'), text.lastIndexOf('\\fbox'));
  if (at < 0) return null;
  let i = at + (text.startsWith('\\boxed', at) ? 6 : 5);
  while (text[i] === ' ' || text[i] === '\n') i++;
  const content =
    text[i] === '{' ? balanced(text, i) : (/^[^\s$\\{}.,;]+/.exec(text.slice(i, i + 200))?.[0] ?? null);
  const trimmed = content?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
}

/** What stands between the brace at `open` and its partner, or null when it has none. */
function balanced(text: string, open: number): string | null {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    const c = text[i];
    if (c === '\\') i++;
    else if (c === '{') depth++;
    else if (c === '}' && --depth === 0) return text.slice(open + 1, i);
  }
  return null;
}

/** The letter of the option a reply chooses, or null when it states none (or none of these options). */
export function extractChoice(text: string, options: readonly string[] | number): string | null {
  const count = typeof options === 'number' ? options : options.length;
  const stated = extractBoxed(text) ?? /answer is:?\s*\(?([A-Z])\b(?! [a-z])/.exec(text)?.[1] ?? text.trim();
  const letter = /^\(?([A-Za-z])\)?\.?$/.exec(stated)?.[1]?.toUpperCase();
  return letter !== undefined && letter.charCodeAt(0) - 65 < count ? letter : null;
}
