/** One question as the model sees it: the tokens of prompt, trace, border and patch, for `vf data patch`. */

import { encodePatches, refuseReference } from '../text/patch.js';
import { promptParts, type Template } from '../text/template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { Question } from './question.js';

export interface TokenView {
  id: number;
  /** Special tokens by their own text; bytes of a cut character as U+FFFD. */
  text: string;
}

export interface PatchView {
  prompt: TokenView[];
  /** The trace up to the border. */
  trace: TokenView[];
  /** The tokens that end the trace's text in the border: the first may hold text before it (`.<`). */
  border: TokenView[];
  /** One a reference answer, encoded on its own. */
  patches: { answer: string; refused: string | null; tokens: TokenView[] }[];
}

/** A trace for display when the user gives none: only its end matters. */
const EXAMPLE = 'So the answer follows.\n';

/**
 * Views a question. `trace` is text for display, cut at its first border; the border is added when it has none. Nothing
 * of this reaches training, where traces are ids as sampled.
 */
export async function viewPatch(
  tokenizer: Tokenizer,
  template: Template,
  question: Question,
  trace = EXAMPLE,
): Promise<PatchView> {
  const cut = trace.indexOf(template.border);
  const text = (cut < 0 ? trace : trace.slice(0, cut)) + template.border;
  const view = (ids: Iterable<number>): TokenView[] =>
    Array.from(ids, (id) => ({ id, text: tokenizer.decode([id], { special: true }) }));
  const [prompt] = await tokenizer.encodePrompts([promptParts(template, question.question)]);
  const [ids] = await tokenizer.encodeData([text]);
  const z = view(ids as Int32Array);
  let start = z.length;
  let left = Buffer.byteLength(template.border);
  while (left > 0 && start > 0) left -= tokenizer.bytesOf((z[--start] as TokenView).id)?.length ?? 0;
  const usable = question.answers.filter((answer) => refuseReference(template, answer) === null);
  const encoded = await encodePatches(tokenizer, template, usable);
  const patches = question.answers.map((answer) => {
    const ids = encoded[usable.indexOf(answer)];
    return { answer, refused: refuseReference(template, answer), tokens: ids ? view(ids) : [] };
  });
  return { prompt: view(prompt as Int32Array), trace: z.slice(0, start), border: z.slice(start), patches };
}
