/**
 * Tokenizer of a model folder, the only importer of `tokenizers`. One library instance, built from tokenizer.json without
 * its added tokens, prefix and post-processor, encodes plain characters; control tokens come from template literals alone.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as Library } from 'tokenizers';
import { VfError } from '../errors.js';
import { type Added, addedTokens, splitLiteral } from './added.js';
import {
  byteScheme,
  bytesOfTokens,
  flatParts,
  type TokenizerJson,
  type TokenizerPart,
} from './token-bytes.js';

/** A stretch of a prompt: template text, where control tokens count, or data, which is plain characters. */
export type PromptPart = { literal: string } | { data: string };

export interface DecodeOptions {
  /** Show special tokens as their text; else they are dropped. */
  special?: boolean;
  /** The ids begin a text: the space of SentencePiece's dummy prefix is dropped. */
  start?: boolean;
}

/** Turns ids into text as they come; U+FFFD appears only for bytes that can't become a character any more. */
export interface TextStream {
  push(ids: Iterable<number>): string;
  end(): string;
}

export interface Tokenizer {
  readonly folder: string;
  /** One above the highest id. */
  readonly size: number;
  /** Put before every prompt that does not begin with it; undefined when the tokenizer adds none. */
  readonly bosId: number | undefined;
  /** The tokenizer's own end of text. */
  readonly eosId: number | undefined;
  /** The tokenizer's chat template (Jinja), when it has one. */
  readonly chatTemplate: string | undefined;
  readonly specialIds: ReadonlySet<number>;
  /** All added tokens, special or not. */
  readonly added: readonly Added[];
  /** Ids of prompts: adjacent plain stretches are encoded together, control tokens of literals stand between, one BOS. */
  encodePrompts(prompts: readonly (readonly PromptPart[])[]): Promise<Int32Array[]>;
  /** Ids of texts as plain characters in mid-sequence: no control token, no BOS, no EOS, no dummy prefix. */
  encodeData(texts: readonly string[]): Promise<Int32Array[]>;
  /** The text of ids; an unknown id is refused. */
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  textStream(options?: DecodeOptions): TextStream;
  /** The bytes of one id; those of a special token are its text. Undefined for a hole in the vocabulary. */
  bytesOf(id: number): Uint8Array | undefined;
  /** The id of an added token's exact text. */
  addedId(content: string): number | undefined;
  /** The engine's table for an embedding of `rows` rows; special tokens and padding rows have no bytes. */
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
  const json = parseJson(text, file);
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

  const encodePlain = async (texts: readonly string[]): Promise<number[][]> => {
    if (texts.length === 0) return [];
    const encodings = await library.encodeBatch([...texts], { addSpecialTokens: false });
    return encodings.map((encoding, i) =>
      checkPlain(encoding.getIds(), specialIds, texts[i] as string, file),
    );
  };

  const piecesOf = (ids: Iterable<number>, special: boolean): Uint8Array[] => {
    const pieces: Uint8Array[] = [];
    for (const id of ids) {
      const bytes = table[id];
      if (bytes === undefined) throw unknownId(id, size);
      if (special || !specialIds.has(id)) pieces.push(bytes);
    }
    return pieces;
  };

  const textStream = (options: DecodeOptions = {}): TextStream => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let strip = options.start === true && prefix !== 'none';
    const clean = (text: string): string => {
      if (!strip || text === '') return text;
      strip = false;
      return text.startsWith(' ') ? text.slice(1) : text;
    };
    return {
      push: (ids) =>
        clean(decoder.decode(Buffer.concat(piecesOf(ids, options.special === true)), { stream: true })),
      end: () => clean(decoder.decode()),
    };
  };

  return {
    folder: file.slice(0, Math.max(0, file.length - 'tokenizer.json'.length - 1)),
    size,
    bosId,
    eosId: named(config.eosToken),
    chatTemplate: config.chatTemplate,
    specialIds,
    added,
    async encodePrompts(prompts) {
      const plans = prompts.map((parts) => planPrompt(parts, added, prefix));
      const encoded = await encodePlain(
        plans.flat().filter((item): item is string => typeof item === 'string'),
      );
      let next = 0;
      return plans.map((plan) => {
        const ids = plan.flatMap((item) =>
          typeof item === 'number' ? [item] : (encoded[next++] as number[]),
        );
        if (bosId !== undefined && ids[0] !== bosId) ids.unshift(bosId);
        return Int32Array.from(ids);
      });
    },
    async encodeData(texts) {
      return (await encodePlain(texts)).map((ids) => Int32Array.from(ids));
    },
    decode(ids, options = {}) {
      const stream = textStream(options);
      return stream.push(ids) + stream.end();
    },
    textStream,
    bytesOf: (id) => table[id],
    addedId: (content) => idOf.get(content),
    vocabulary: (rows) => engineTable(table, specialIds, rows, file),
  };
}

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
    return text === undefined
      ? {}
      : (parseJson(text, join(folder, name)) as unknown as Record<string, unknown>);
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

function parseJson(text: string, file: string): TokenizerJson {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as TokenizerJson;
  } catch (cause) {
    throw new VfError('VF_TOKENIZER', `Expected JSON in ${file} but received ${(cause as Error).message}`, {
      file,
      hint: 'copy the file again; it may be an error page or cut short',
      cause,
    });
  }
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

/** tokenizer.json for plain characters: no added tokens, nothing put before or after, nothing cut. */
function plainJson(json: TokenizerJson): TokenizerJson {
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
type DummyPrefix = 'none' | 'always' | 'unless-there' | 'first';

function dummyPrefix(json: TokenizerJson): DummyPrefix {
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
function planPrompt(
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

function engineTable(
  table: readonly (Uint8Array | undefined)[],
  special: ReadonlySet<number>,
  rows: number,
  file: string,
): { tokenBytes: Uint8Array; tokenOffsets: Int32Array; usableVocab: number } {
  if (table.length > rows) {
    throw new VfError(
      'VF_TOKENIZER',
      `Expected at most ${rows} token ids (the embedding's rows) in ${file} but received ${table.length}`,
      { file, hint: 'config.json and tokenizer.json must come from the same model' },
    );
  }
  const pieces = table.map((bytes, id) =>
    bytes === undefined || special.has(id) ? new Uint8Array(0) : bytes,
  );
  const tokenOffsets = new Int32Array(rows + 1);
  for (let id = 0; id < rows; id++)
    tokenOffsets[id + 1] = (tokenOffsets[id] as number) + (pieces[id]?.length ?? 0);
  const tokenBytes = new Uint8Array(tokenOffsets[rows] as number);
  for (const [id, piece] of pieces.entries()) tokenBytes.set(piece, tokenOffsets[id]);
  return { tokenBytes, tokenOffsets, usableVocab: table.length };
}

function unknownId(id: number, size: number): VfError {
  return new VfError(
    'VF_TOKEN_ID',
    `Expected token ids of the vocabulary (0 to ${size - 1}) but received ${id}`,
    {
      hint: 'the ids come from another tokenizer',
    },
  );
}

function maximum(numbers: number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), -1);
}
