/** Confidence π(gold | x, z) at T = 1: the reference's probability behind a reply's trace, by the training forward. */

import type { Policy } from '../native/policy.js';
import { SPAN_ROLE } from '../native/types.js';
import { ragged } from '../rollout/sample.js';

export interface ConfidenceRequest {
  promptIds: Int32Array;
  replyIds: Int32Array;
  /** One a reference: the text from the border to the end of the answer. */
  patches: readonly Int32Array[];
}

export interface ConfidenceParts {
  policy: Policy;
  border: string;
  decode(ids: Int32Array): string;
  microBatchTokens: number;
  /** Sequences that would be longer have no confidence; any length when left out. */
  maxPositions?: number;
}

/** The length of the shortest prefix of ids whose text ends in the border; 0 when there is none. */
export function borderPrefix(ids: Int32Array, border: string, decode: (ids: Int32Array) => string): number {
  const at = decode(ids).indexOf(border);
  if (at < 0) return 0;
  let low = 1;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decode(ids.subarray(0, middle)).length >= at + border.length) high = middle;
    else low = middle + 1;
  }
  return decode(ids.subarray(0, low)).endsWith(border) ? low : 0;
}

/** One a request: the likeliest reference's probability, or null where the reply has no border. */
export async function scoreConfidence(
  parts: ConfidenceParts,
  requests: readonly ConfidenceRequest[],
): Promise<(number | null)[]> {
  const segments: Int32Array[] = [];
  const parents: number[] = [];
  const spans: number[] = [];
  const owners: number[] = [];
  const limit = parts.maxPositions ?? Number.POSITIVE_INFINITY;
  requests.forEach(({ promptIds, replyIds, patches }, i) => {
    const length = borderPrefix(replyIds, parts.border, parts.decode);
    const fitting = patches.filter((patch) => promptIds.length + length + patch.length <= limit);
    if (length === 0 || fitting.length === 0) return;
    const trace = new Int32Array(promptIds.length + length);
    trace.set(promptIds);
    trace.set(replyIds.subarray(0, length), promptIds.length);
    const root = segments.push(trace) - 1;
    parents.push(-1);
    for (const patch of fitting) {
      parents.push(root);
      spans.push(segments.push(patch) - 1, 0, patch.length, SPAN_ROLE.answer);
      owners.push(i);
    }
  });
  const confidence: (number | null)[] = requests.map(() => null);
  if (owners.length === 0) return confidence;
  const { logprobs } = await parts.policy.score({
    tree: { tokens: ragged(segments), parents: Int32Array.from(parents) },
    spans: Int32Array.from(spans),
    temperature: 1,
    entropy: false,
    microBatchTokens: parts.microBatchTokens,
  });
  let at = 0;
  owners.forEach((owner, k) => {
    const length = spans[4 * k + 2]!;
    let sum = 0;
    for (let t = 0; t < length; t++) sum += logprobs[at++]!;
    confidence[owner] = Math.max(confidence[owner] ?? 0, Math.exp(sum));
  });
  return confidence;
}
