/**
 * Tokenizer of a model folder, the only importer of `tokenizers`. One library instance, built from tokenizer.json without
 * its added tokens, prefix and post-processor, encodes plain characters; control tokens come from template literals alone.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as Library } from 'tokenizers';
import { VfError } from '../errors.js';
import { type Added, addedTokens } from './added.js';
import { type DecodeOptions, decoding, engineTable, type TextStream } from './decode.js';
import { type DummyPrefix, dummyPrefix, type PromptPart, plainJson, planPrompt } from './plain.js';
import { byteScheme, bytesOfTokens, flatParts, type TokenizerJson } from './token-bytes.js';
import { parseJson, readTokenizerConfig, type TokenizerConfig } from './tokenizer-config.js';

export type { DecodeOptions, TextStream } from './decode.js';
export type { PromptPart } from './plain.js';

export interface Tokenizer {
  readonly folder: string;
  /** One above the highest id. */
  readonly size: number;
  /** Put before every prompt that does not begin with it; undefined when the tokenizer adds none. */
  readonly bosId: number | undefined;
  /** The tokenizer's own end of text. */
  readonly eosId: number | undefined;
  /** Texts of BOS and EOS as the tokenizer's config names them ('' for none); chat templates print them. */
  readonly bosText: string;
  readonly eosText: string;
  /** The tokenizer's chat template (Jinja), when it has one. */
  readonly chatTemplate: string | undefined;
  readonly specialIds: ReadonlySet<number>;
  /** All added tokens, special or not. */
  readonly added: readonly Added[];
  /** Ids of prompts: adjacent plain stretches are encoded together, control tokens of literals stand between, one BOS. */
  encodePrompts(prompts: readonly (readonly PromptPart[])[]): Promise<Int32Array[]>;
  /** As encodePrompts for text in mid-sequence: no BOS, no dummy prefix. */
  encodeParts(texts: readonly (readonly PromptPart[])[]): Promise<Int32Array[]>;
  /** Ids of texts as plain characters in mid-sequence: no control token, no BOS, no EOS, no dummy prefix. */
  encodeData(texts: readonly string[]): Promise<Int32Array[]>;
  /** The text of ids; an unknown id is refused. */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  textStream(options?: DecodeOptions): TextStream;
  /** The bytes of one id; those of a special token are its text. Undefined for a hole in the vocabulary. */
  bytesOf(id: number): Uint8Array | undefined;
  /** The id of an added token's exact text. */
  addedId(content: string): number | undefined;
  /** The engine's table for an embedding of `rows` rows; padding rows have no bytes. */
  vocabulary(rows: number): { tokenBytes: Uint8Array; tokenOffsets: Int32Array; usableVocab: number };
}

/** Opens the tokenizer of a Hugging Face folder (tokenizer.json, and tokenizer_config.json where present). */
export async function openTokenizer(folder: string): Promise<Tokenizer> {
  const file = join(folder, 'tokenizer.json');
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new VfError(
      'VF_TOKENIZER',
      `Expected to read ${file} but received ${cause.code ?? cause.message}`,
      {
        file,
        hint: 'a model folder needs tokenizer.json (transformers writes one with every fast tokenizer)',
        cause,
      },
    );
  });
  return parseTokenizer(text, await readTokenizerConfig(folder), file);
}

/** As openTokenizer, from the files' contents. @param file tokenizer.json's path, for messages. */
export function parseTokenizer(text: string, config: TokenizerConfig, file: string): Tokenizer {
  const json = parseJson<TokenizerJson>(text, file);
  const scheme = byteScheme(json, file);
  const added = addedTokens(json);
  const size = 1 + Math.max(maximum(Object.values(json.model.vocab)), maximum(added.map(({ id }) => id)));
  const table = bytesOfTokens(json, scheme, size);
  const prefix = dummyPrefix(json);
  const library = openLibrary(plainJson(json), file);
  const specialIds = new Set(added.filter(({ special }) => special).map(({ id }) => id));
  const idOf = new Map(added.map(({ content, id }) => [content, id]));
  const named = (token: string | undefined): number | undefined =>
    token === undefined ? undefined : (idOf.get(token) ?? json.model.vocab[token]);
  const bosId = bosOf(json, config, named);

  return {
    folder: file.slice(0, Math.max(0, file.length - 'tokenizer.json'.length - 1)),
    size,
    bosId,
    eosId: named(config.eosToken),
    bosText: config.bosToken ?? '',
    eosText: config.eosToken ?? '',
    chatTemplate: config.chatTemplate,
    specialIds,
    added,
    ...decoding(table, specialIds, prefix !== 'none'),
    ...encoding({ library, added, specialIds, prefix, bosId, file }),
    bytesOf: (id) => table[id],
    addedId: (content) => idOf.get(content),
    vocabulary: (rows) => engineTable(table, rows, file),
  };
}

interface EncodingParts {
  library: Library;
  added: readonly Added[];
  specialIds: ReadonlySet<number>;
  prefix: DummyPrefix;
  bosId: number | undefined;
  file: string;
}

function encoding(parts: EncodingParts): Pick<Tokenizer, 'encodePrompts' | 'encodeParts' | 'encodeData'> {
  const { library, added, specialIds, prefix, bosId, file } = parts;
  const encodePlain = async (texts: readonly string[]): Promise<number[][]> => {
    if (texts.length === 0) return [];
    const encodings = await library.encodeBatch([...texts], { addSpecialTokens: false });
    return encodings.map((result, i) => checkPlain(result.getIds(), specialIds, texts[i] as string, file));
  };
  const encodeParts = async (
    texts: readonly (readonly PromptPart[])[],
    start: boolean,
  ): Promise<Int32Array[]> => {
    const plans = texts.map((text) => planPrompt(text, added, start ? prefix : 'none'));
    const encoded = await encodePlain(
      plans.flat().filter((item): item is string => typeof item === 'string'),
    );
    let next = 0;
    return plans.map((plan) => {
      const ids = plan.flatMap((item) => (typeof item === 'number' ? [item] : (encoded[next++] as number[])));
      if (start && bosId !== undefined && ids[0] !== bosId) ids.unshift(bosId);
      return Int32Array.from(ids);
    });
  };
  return {
    encodePrompts: (prompts) => encodeParts(prompts, true),
    encodeParts: (texts) => encodeParts(texts, false),
    encodeData: async (texts) => (await encodePlain(texts)).map((ids) => Int32Array.from(ids)),
  };
}

function openLibrary(json: TokenizerJson, file: string): Library {
  try {
    return Library.fromString(JSON.stringify(json));
  } catch (cause) {
    throw new VfError(
      'VF_TOKENIZER',
      `Expected a tokenizer in ${file} but received: ${(cause as Error).message}`,
      {
        file,
        hint: 'a part of this tokenizer is unknown or damaged; nothing stands in for it',
        cause,
      },
    );
  }
}

function bosOf(
  json: TokenizerJson,
  config: TokenizerConfig,
  named: (token: string | undefined) => number | undefined,
): number | undefined {
  if (config.addBos === false) return undefined;
  if (config.addBos === true) return named(config.bosToken);
  for (const part of flatParts(json.post_processor)) {
    const first = Array.isArray(part.single)
      ? (part.single[0] as Record<string, { id?: string }>)
      : undefined;
    if (part.type === 'TemplateProcessing' && first?.SpecialToken) return named(first.SpecialToken.id);
  }
  return undefined;
}

function checkPlain(ids: number[], special: ReadonlySet<number>, text: string, file: string): number[] {
  const bad = ids.find((id) => special.has(id));
  if (bad === undefined) return ids;
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  throw new VfError(
    'VF_TOKENIZER',
    `Expected plain tokens for ${JSON.stringify(shown)} but received special id ${bad}: the tokenizer can't write this text`,
    { file, hint: 'use a tokenizer with byte fallback, or drop the rows that hold such characters' },
  );
}

function maximum(numbers: number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), -1);
}
