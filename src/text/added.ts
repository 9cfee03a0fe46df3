/** Added tokens: the control tokens and tags that stand beside the BPE vocabulary, found in template literals only. */

import type { AddedToken, TokenizerJson } from './token-bytes.js';

export type Added = AddedToken;

/** The tokenizer's added tokens, longest first, so that the longest match wins. */
export function addedTokens(json: TokenizerJson): Added[] {
  return [...(json.added_tokens ?? [])]
    .filter(({ content }) => content !== '')
    .sort((a, b) => b.content.length - a.content.length);
}

/**
 * A template literal as control ids and the plain text between them, leftmost and longest match first. A token that
 * strips blanks does so inside the literal only; one that must stand as a word is skipped inside a longer word.
 */
export function splitLiteral(literal: string, added: readonly Added[]): (number | string)[] {
  const items: (number | string)[] = [];
  let text = '';
  let at = 0;
  while (at < literal.length) {
    const token = added.find((candidate) => matches(literal, at, candidate));
    if (token === undefined) {
      text += literal[at++];
      continue;
    }
    if (token.lstrip) text = text.trimEnd();
    if (text !== '') items.push(text);
    text = '';
    items.push(token.id);
    at += token.content.length;
    while (token.rstrip && at < literal.length && /\s/.test(literal[at] as string)) at++;
  }
  if (text !== '') items.push(text);
  return items;
}

/** Whether plain text holds the exact text of a control token (it will be encoded as characters all the same). */
export function holdsControlText(text: string, added: readonly Added[]): string | undefined {
  return added.find(({ content }) => text.includes(content))?.content;
}

function matches(text: string, at: number, { content, single_word: word }: Added): boolean {
  if (!text.startsWith(content, at)) return false;
  const isWord = (c: string | undefined): boolean => c !== undefined && /[\p{L}\p{N}_]/u.test(c);
  return !word || !(isWord(text[at - 1]) || isWord(text[at + content.length]));
}
