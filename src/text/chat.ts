/** A tokenizer's own chat template as fixed text around the question, rendered once (the only user of Jinja). */

import { Template as Jinja } from '@huggingface/jinja';
import { VfError } from '../errors.js';
import type { Template } from './template.js';
import type { Tokenizer } from './tokenizer.js';

/** Private-use characters that no template writes. */
const MARK = '\ue0f1question\ue0f2';

/**
 * One user turn and the opening of the assistant's. The texts around the question are what the rendering puts there,
 * BOS text included; a template that changes the question in any way but trimming it is refused.
 */
export function chatTemplate(tokenizer: Tokenizer): Pick<Template, 'name' | 'before' | 'after' | 'trim'> {
  const source = tokenizer.chatTemplate;
  if (source === undefined) {
    throw new VfError('VF_TEMPLATE', `Expected a chat template in ${tokenizer.folder} but found none`, {
      hint: 'choose another one: --template plain',
    });
  }
  const [before, after] = around(render(source, MARK, tokenizer));
  const padded = render(source, ` ${MARK} `, tokenizer);
  const trim = padded === before + MARK + after;
  if (!trim && padded !== `${before} ${MARK} ${after}`) {
    throw new VfError('VF_TEMPLATE', 'Expected a chat template that keeps the question as it is', {
      hint: 'choose another one: --template plain',
    });
  }
  return trim ? { name: 'chat', before, after, trim } : { name: 'chat', before, after };
}

function render(source: string, content: string, tokenizer: Tokenizer): string {
  try {
    return new Jinja(source).render({
      messages: [{ role: 'user', content }],
      add_generation_prompt: true,
      bos_token: tokenizer.bosText,
      eos_token: tokenizer.eosText,
    });
  } catch (cause) {
    throw new VfError(
      'VF_TEMPLATE',
      `The chat template of ${tokenizer.folder} failed: ${(cause as Error).message}`,
      {
        hint: 'choose another one: --template plain',
        cause,
      },
    );
  }
}

function around(rendered: string): [string, string] {
  const [before, after, ...more] = rendered.split(MARK);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new VfError('VF_TEMPLATE', 'Expected a chat template that writes the question once', {
      hint: 'choose another one: --template plain',
    });
  }
  return [before, after];
}
