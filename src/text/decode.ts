/** From ids to bytes and text, without the library: its own decode is asynchronous and drops ids it does not know. */

import { VfError } from '../errors.js';

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

/** The decoding half of a tokenizer. @param prefixed its texts begin with a space that is not theirs. */
export function decoding(
  table: readonly (Uint8Array | undefined)[],
  specialIds: ReadonlySet<number>,
  prefixed: boolean,
): {
  decode(ids: Iterable<number>, options?: DecodeOptions): string;
  textStream(options?: DecodeOptions): TextStream;
} {
  const bytesOf = (ids: Iterable<number>, special: boolean): Buffer => {
    const pieces: Uint8Array[] = [];
    for (const id of ids) {
      const bytes = table[id];
      if (bytes === undefined) throw unknownId(id, table.length);
      if (special || !specialIds.has(id)) pieces.push(bytes);
    }
    return Buffer.concat(pieces);
  };
  const textStream = (options: DecodeOptions = {}): TextStream => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let strip = options.start === true && prefixed;
    const clean = (text: string): string => {
      if (!strip || text === '') return text;
      strip = false;
      return text.startsWith(' ') ? text.slice(1) : text;
    };
    return {
      push: (ids) => clean(decoder.decode(bytesOf(ids, options.special === true), { stream: true })),
      end: () => clean(decoder.decode()),
    };
  };
  const decode = (ids: Iterable<number>, options: DecodeOptions = {}): string => {
    const stream = textStream(options);
    return stream.push(ids) + stream.end();
  };
  return { decode, textStream };
}

/**
 * The engine's table of token bytes for an embedding of `rows` rows; fewer rows than ids is an error. A special token has
 * its text, so that one in the middle of a border breaks it.
 */
export function engineTable(
  table: readonly (Uint8Array | undefined)[],
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
  const pieces = table.map((bytes) => bytes ?? new Uint8Array(0));
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
