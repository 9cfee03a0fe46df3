/** The raw bytes of every token id, from tokenizer.json: what the engine matches stops against and decoding joins. */

import { VfError } from '../errors.js';

export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
  lstrip: boolean;
  rstrip: boolean;
  single_word: boolean;
}

/** The parts of tokenizer.json that this program reads itself. */
export interface TokenizerJson {
  model: {
    type?: string;
    vocab: Record<string, number>;
    dropout?: number | null;
    continuing_subword_prefix?: string | null;
    end_of_word_suffix?: string | null;
    byte_fallback?: boolean;
    unk_token?: string | null;
  };
  added_tokens?: AddedToken[];
  normalizer?: TokenizerPart | null;
  pre_tokenizer?: TokenizerPart | null;
  post_processor?: TokenizerPart | null;
  decoder?: TokenizerPart | null;
  truncation?: unknown;
  padding?: unknown;
}

/** A normalizer, pre-tokenizer, post-processor or decoder; a Sequence holds others. */
export type TokenizerPart = { type: string } & Record<string, unknown>;

/** byte-level: GPT-2's printable stand-ins for bytes. sentencepiece: `▁` for a space and `<0xNN>` for a byte. */
export type ByteScheme = 'byte-level' | 'sentencepiece';

/** A part and, for a Sequence, its members, in order. */
export function flatParts(part: TokenizerPart | null | undefined): TokenizerPart[] {
  if (!part) return [];
  for (const key of ['normalizers', 'pretokenizers', 'processors', 'decoders']) {
    const members = part[key];
    if (part.type === 'Sequence' && Array.isArray(members)) {
      return members.flatMap((member) => flatParts(member as TokenizerPart));
    }
  }
  return [part];
}

/** How token strings stand for bytes, read off the decoder. Another kind of model or decoder is refused by name. */
export function byteScheme(json: TokenizerJson, file: string): ByteScheme {
  const { model } = json;
  if (typeof model?.vocab !== 'object' || model.vocab === null)
    throw refused(file, 'no model.vocab', 'a BPE model');
  const type = model.type ?? 'BPE';
  if (type !== 'BPE') throw refused(file, `model type ${type}`, 'BPE');
  if (model.continuing_subword_prefix || model.end_of_word_suffix) {
    throw refused(file, 'a subword prefix or word suffix', 'neither');
  }
  const types = flatParts(json.decoder).map((part) => part.type);
  if (types.length === 1 && types[0] === 'ByteLevel') return 'byte-level';
  const known = ['Replace', 'ByteFallback', 'Fuse', 'Strip', 'Metaspace'];
  const other = types.find((name) => !known.includes(name));
  if (types.length === 0 || other !== undefined) {
    throw refused(file, `decoder ${other ?? 'null'}`, 'ByteLevel, Metaspace or the Llama sequence');
  }
  return 'sentencepiece';
}

/**
 * The bytes of every id below `size`; undefined where the vocabulary has a hole. Added tokens, special ones too, stand for
 * their own characters.
 */
export function bytesOfTokens(
  json: TokenizerJson,
  scheme: ByteScheme,
  size: number,
): (Uint8Array | undefined)[] {
  const table: (Uint8Array | undefined)[] = new Array(size).fill(undefined);
  const bytesOf = scheme === 'byte-level' ? byteLevelBytes() : sentencePieceBytes;
  for (const [token, id] of Object.entries(json.model.vocab)) table[id] = bytesOf(token);
  for (const { id, content } of json.added_tokens ?? []) table[id] = encoder.encode(content);
  return table;
}

const encoder = new TextEncoder();

/** GPT-2's map, inverted: printable Latin-1 stands for itself; the other 68 bytes, in order, for U+0100 and up. */
function byteLevelBytes(): (token: string) => Uint8Array {
  const byteOf = new Map<number, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    byteOf.set(printable ? byte : next++, byte);
  }
  return (token) => {
    const bytes = new Uint8Array(token.length);
    for (let i = 0; i < token.length; i++) {
      const byte = byteOf.get(token.charCodeAt(i));
      if (byte === undefined) return encoder.encode(token);
      bytes[i] = byte;
    }
    return bytes;
  };
}

function sentencePieceBytes(piece: string): Uint8Array {
  const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece);
  return byte
    ? Uint8Array.of(Number.parseInt(byte[1] as string, 16))
    : encoder.encode(piece.replaceAll('▁', ' '));
}

function refused(file: string, what: string, expected: string): VfError {
  return new VfError('VF_TOKENIZER', `Expected ${expected} in ${file} but received ${what}`, {
    file,
    hint: 'take the tokenizer.json of a Qwen3, Qwen2/2.5 or Llama 2/3 model',
  });
}
