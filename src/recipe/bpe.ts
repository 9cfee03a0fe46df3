/** A byte-level BPE trainer (Sennrich et al. 2016) over Qwen's pre-tokenizer, for the bundled models' small vocabularies. */

/** Qwen's split pattern as `tokenizer.json` states it. */
export const QWEN_SPLIT =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** The same pattern for JavaScript, which has no inline case flag on this Node version. */
const SPLIT = new RegExp(
  QWEN_SPLIT.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"),
  'gu',
);

export interface Vocabulary {
  /** The 256 byte characters, then one token a merge, in order of their ids. */
  tokens: string[];
  merges: [string, string][];
}

export interface BpeOptions {
  /** Tokens at most, bytes included. */
  size: number;
  /** A pair seen fewer times than this is not merged. */
  minCount: number;
}

/** The character that stands for each byte in a byte-level vocabulary (GPT-2's table), by byte value. */
export function byteCharacters(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

/** Learns merges from texts; equal counts are settled by the order of the pair's characters, so the result is one. */
export function trainBpe(texts: Iterable<string>, options: BpeOptions): Vocabulary {
  const characters = byteCharacters();
  const tokens = [...characters].sort(byCode);
  const merges: [string, string][] = [];
  const words = countPieces(texts, characters);
  while (tokens.length < options.size) {
    const best = mostFrequentPair(words);
    if (best === null || best.count < options.minCount) break;
    merges.push(best.pair);
    tokens.push(best.pair[0] + best.pair[1]);
    for (const word of words) word.parts = merged(word.parts, best.pair);
  }
  return { tokens, merges };
}

/** The texts of rows between their special tokens, which no merge may cross. */
export function plainTexts(rows: { prompt: string; completion: string }[]): string[] {
  return rows
    .flatMap(({ prompt, completion }) => `${prompt}${completion}`.split(/<\|[a-z_]+\|>/))
    .filter((text) => text !== '');
}

interface Word {
  parts: string[];
  count: number;
}

function countPieces(texts: Iterable<string>, characters: string[]): Word[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [piece] of text.matchAll(SPLIT)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  }
  return [...counts].map(([piece, count]) => ({
    parts: Array.from(Buffer.from(piece, 'utf8'), (byte) => characters[byte]!),
    count,
  }));
}

function mostFrequentPair(words: Word[]): { pair: [string, string]; count: number } | null {
  const counts = new Map<string, { pair: [string, string]; count: number }>();
  for (const { parts, count } of words) {
    for (let i = 0; i + 1 < parts.length; i++) {
      const key = `${parts[i]} ${parts[i + 1]}`;
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { pair: [parts[i]!, parts[i + 1]!], count });
      else known.count += count;
    }
  }
  let best: { pair: [string, string]; count: number } | null = null;
  let bestKey = '';
  for (const [key, entry] of counts) {
    if (
      best === null ||
      entry.count > best.count ||
      (entry.count === best.count && byCode(key, bestKey) < 0)
    ) {
      best = entry;
      bestKey = key;
    }
  }
  return best;
}

function merged(parts: string[], [left, right]: [string, string]): string[] {
  const result: string[] = [];
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] === left && parts[i + 1] === right) {
      result.push(left + right);
      i++;
    } else {
      result.push(parts[i]!);
    }
  }
  return result;
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
