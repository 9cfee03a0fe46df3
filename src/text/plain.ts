/** Prompts as control ids and plain stretches, and the tokenizer.json that encodes the plain ones. */

import { type Added, splitLiteral } from './added.js';
import { flatParts, type TokenizerJson, type TokenizerPart } from './token-bytes.js';

/** A stretch of a prompt: template text, where control tokens count, or data, which is plain characters. */
export type PromptPart = { literal: string } | { data: string };

/** tokenizer.json for plain characters: no added tokens, nothing put before or after, nothing cut. */
export function plainJson(json: TokenizerJson): TokenizerJson {
  return {
    ...json,
    added_tokens: [],
    truncation: null,
    padding: null,
    post_processor: null,
    normalizer: withoutPrefix(json.normalizer),
    pre_tokenizer: withoutPrefix(json.pre_tokenizer),
    model: { ...json.model, dropout: null },
  };
}

function withoutPrefix(part: TokenizerPart | null | undefined): TokenizerPart | null {
  if (!part || part.type === 'Prepend') return null;
  if (part.type === 'Metaspace') {
    const { add_prefix_space: _, ...rest } = part;
    return { ...rest, type: part.type, prepend_scheme: 'never' };
  }
  if (part.type === 'ByteLevel') return { ...part, add_prefix_space: false };
  const copy = { ...part };
  for (const key of ['normalizers', 'pretokenizers']) {
    const members = copy[key];
    if (Array.isArray(members)) {
      copy[key] = members
        .map((member) => withoutPrefix(member as TokenizerPart))
        .filter((member) => member !== null);
    }
  }
  return copy;
}

/** Whether a space is put before a text: always, unless one is there, or only where no control token precedes. */
export type DummyPrefix = 'none' | 'always' | 'unless-there' | 'first';

/** The dummy prefix that a tokenizer.json asks for. */
export function dummyPrefix(json: TokenizerJson): DummyPrefix {
  for (const part of [...flatParts(json.normalizer), ...flatParts(json.pre_tokenizer)]) {
    if (part.type === 'Prepend') return 'always';
    if (part.type === 'ByteLevel' && part.add_prefix_space === true) return 'unless-there';
    if (part.type === 'Metaspace') {
      const scheme = part.prepend_scheme ?? (part.add_prefix_space === false ? 'never' : 'always');
      if (scheme === 'first') return 'first';
      if (scheme === 'always') return 'unless-there';
    }
  }
  return 'none';
}

/** A prompt as control ids and plain stretches; only the first stretch gets the dummy prefix. */
export function planPrompt(
  parts: readonly PromptPart[],
  added: readonly Added[],
  prefix: DummyPrefix,
): (number | string)[] {
  const plan: (number | string)[] = [];
  for (const part of parts) {
    for (const item of 'data' in part ? [part.data] : splitLiteral(part.literal, added)) {
      const last = plan.at(-1);
      if (typeof item === 'string' && typeof last === 'string') plan[plan.length - 1] = last + item;
      else if (item !== '') plan.push(item);
    }
  }
  const first = plan.findIndex((item) => typeof item === 'string');
  const text = plan[first];
  if (
    typeof text === 'string' &&
    (prefix === 'always' || (prefix === 'first' && first === 0 && !text.startsWith(' ')))
  ) {
    plan[first] = ` ${text}`;
  } else if (typeof text === 'string' && prefix === 'unless-there' && !text.startsWith(' ')) {
    plan[first] = ` ${text}`;
  }
  return plan;
}
