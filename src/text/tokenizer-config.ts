/** tokenizer_config.json and its neighbours: the tokenizer's BOS, EOS and chat template. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VfError } from '../errors.js';

/** What tokenizer_config.json and its neighbours add to tokenizer.json. */
export interface TokenizerConfig {
  bosToken?: string | undefined;
  eosToken?: string | undefined;
  addBos?: boolean | undefined;
  chatTemplate?: string | undefined;
}

/** Reads tokenizer_config.json, special_tokens_map.json and chat_template.jinja; absent files say nothing. */
export async function readTokenizerConfig(folder: string): Promise<TokenizerConfig> {
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => undefined);
  const parse = async (name: string): Promise<Record<string, unknown>> => {
    const text = await read(name);
    return text === undefined ? {} : parseJson<Record<string, unknown>>(text, join(folder, name));
  };
  const config = await parse('tokenizer_config.json');
  const map = await parse('special_tokens_map.json');
  const token = (key: string): string | undefined => tokenText(config[key]) ?? tokenText(map[key]);
  const template = (await read('chat_template.jinja')) ?? config.chat_template;
  return {
    bosToken: token('bos_token'),
    eosToken: token('eos_token'),
    addBos: typeof config.add_bos_token === 'boolean' ? config.add_bos_token : undefined,
    chatTemplate: typeof template === 'string' ? template : undefined,
  };
}

function tokenText(value: unknown): string | undefined {
  const content =
    typeof value === 'object' && value !== null ? (value as { content?: unknown }).content : value;
  return typeof content === 'string' ? content : undefined;
}

/** Parses a JSON file of a tokenizer; damaged text is a VfError that names the file. */
export function parseJson<T>(text: string, file: string): T {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as T;
  } catch (cause) {
    throw new VfError('VF_TOKENIZER', `Expected JSON in ${file} but received ${(cause as Error).message}`, {
      file,
      hint: 'copy the file again; it may be an error page or cut short',
      cause,
    });
  }
}
