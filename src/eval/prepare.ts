/** From items to prompts: ids, the room a reply has, how many worked examples fit, and what is left out. */

import { createHash } from 'node:crypto';
import { encodePatches } from '../text/patch.js';
import type { Template } from '../text/template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { type Examples, type PromptStyle, partsText } from './prompt.js';
import type { Item } from './task.js';

/** One question, ready to be sampled. */
export interface Prepared {
  item: Item;
  /** The question's place in the task: its random stream, whatever else is evaluated. */
  index: number;
  promptIds: Int32Array;
  prompt: string;
  /** SHA-256 of the prompt's bytes, hex. */
  promptHash: string;
  shots: number;
  patches: Int32Array[];
  maxTokens: number;
}

export interface PrepareParts {
  tokenizer: Tokenizer;
  style: PromptStyle;
  /** Most tokens of a prompt. */
  maxPromptTokens: number;
  maxTokens: number;
  maxPositions: number;
  /** 0: all that are kept. */
  limit: number;
  /** References are encoded for the confidence. */
  confidence: boolean;
  examplesFor(item: Item, shots: number): Examples;
  shots: number;
}

/** Items encoded at a time. */
const CHUNK = 256;
/** Replies whose room the model's positions cut are sampled together when their room is equal in these steps. */
const ROOM_STEP = 32;

/** Prompts of the items in order; those that do not fit are counted by reason. */
export async function prepareItems(
  parts: PrepareParts,
  items: readonly Item[],
): Promise<{ prepared: Prepared[]; dropped: Record<string, number> }> {
  const prepared: Prepared[] = [];
  const dropped: Record<string, number> = {};
  const wanted = parts.limit === 0 ? items.length : parts.limit;
  for (let start = 0; start < items.length && prepared.length < wanted; start += CHUNK) {
    const chunk = items.slice(start, start + CHUNK);
    const encoded = await encodeWithShots(parts, chunk);
    const patches = parts.confidence ? await patchesOf(parts, chunk) : chunk.map(() => []);
    for (const [i, item] of chunk.entries()) {
      if (prepared.length === wanted) break;
      const { ids, text, shots } = encoded[i]!;
      const reason = refusal(parts, ids.length);
      if (reason !== null) {
        dropped[reason] = (dropped[reason] ?? 0) + 1;
        continue;
      }
      prepared.push({
        item,
        index: start + i,
        promptIds: ids,
        prompt: text,
        promptHash: createHash('sha256').update(text).digest('hex'),
        shots,
        patches: patches[i]!,
        maxTokens: room(parts, ids.length),
      });
    }
  }
  return { prepared, dropped };
}

function refusal({ maxPromptTokens, maxPositions }: PrepareParts, length: number): string | null {
  if (length > maxPromptTokens) return `prompts above ${maxPromptTokens} tokens`;
  return maxPositions - length < 1 ? `prompts that fill the model's ${maxPositions} positions` : null;
}

/** Tokens a reply may have: what was asked for, or what the positions leave. */
function room({ maxTokens, maxPositions }: PrepareParts, length: number): number {
  const left = maxPositions - length;
  if (left >= maxTokens) return maxTokens;
  return left <= ROOM_STEP ? left : left - (left % ROOM_STEP);
}

/** As MMLU-Pro's own script does, worked examples are taken off one by one until prompt and reply fit. */
async function encodeWithShots(
  parts: PrepareParts,
  items: readonly Item[],
): Promise<{ ids: Int32Array; text: string; shots: number }[]> {
  const most = Math.min(parts.maxPromptTokens, parts.maxPositions - Math.min(parts.maxTokens, 2048));
  const result: { ids: Int32Array; text: string; shots: number }[] = [];
  let open = items.map((_, i) => i);
  for (let shots = parts.shots; open.length > 0; shots--) {
    const built = open.map((i) => parts.style.parts(items[i]!, parts.examplesFor(items[i]!, shots)));
    const ids = await parts.tokenizer.encodePrompts(built);
    const tooLong: number[] = [];
    for (const [k, i] of open.entries()) {
      if (shots > 0 && ids[k]!.length > most) tooLong.push(i);
      else result[i] = { ids: ids[k]!, text: partsText(built[k]!), shots };
    }
    open = tooLong;
  }
  return result;
}

/** Patch ids of every item's references; none for one that the tokenizer can't carry. */
async function patchesOf(parts: PrepareParts, items: readonly Item[]): Promise<Int32Array[][]> {
  const { border, opening, closing } = parts.style;
  const template: Template = { ...NOTHING, border, opening, closing };
  const encode = (answers: readonly string[]) => encodePatches(parts.tokenizer, template, answers);
  const usable = items.map(({ answers }) => answers.filter((answer) => answer.trim() !== ''));
  try {
    const all = await encode(usable.flat());
    let next = 0;
    return usable.map((answers) => answers.map(() => all[next++]!));
  } catch {
    return Promise.all(usable.map((answers) => encode(answers).catch(() => [])));
  }
}

const NOTHING = { name: 'patch', before: '', instruction: '', after: '' };

/** SHA-256, hex, over the prompts' hashes in the order of the questions. */
export function promptsHash(prepared: readonly Prepared[]): string {
  const hash = createHash('sha256');
  for (const { promptHash } of prepared) hash.update(`${promptHash}\n`);
  return hash.digest('hex');
}
