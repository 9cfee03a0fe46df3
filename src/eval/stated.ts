/** A free answer that a reply states outside of a box, for prompts that ask for no box. Nothing is guessed. */

import { extractBoxed } from '../text/answer.js';
import { answeringPart, answerTag } from '../text/choice/cut.js';

/** Statements are looked for in this many characters at the end. */
const TAIL = 8000;

/** What announces an answer that runs to the end of its line or sentence. */
const ANNOUNCED = /(?:\banswer\s*(?:is|:|=)\s*:?|####)\s*/giu;

/** The last box, else the last `<answer>` body, else what the last "answer is …", "Answer: …" or "#### …" names; or null. */
export function statedAnswer(text: string): string | null {
  const boxed = extractBoxed(text);
  if (boxed !== null) return boxed;
  const reply = answeringPart(text);
  if (reply === null) return null;
  const tagged = reply.includes('<answer>') ? (answerTag(reply)?.trim() ?? '') : '';
  if (tagged !== '') return tagged;
  const tail = reply.slice(-TAIL);
  let last: string | null = null;
  for (const match of tail.matchAll(ANNOUNCED)) {
    const line = tail.slice(match.index + match[0].length).split('\n', 1)[0]!;
    const answer = upToStop(line);
    if (answer !== '') last = answer;
  }
  return last;
}

/** The line up to the end of its sentence: a full stop that ends the line or stands before a space and a capital. */
function upToStop(line: string): string {
  const end = /[.!?](?=\s+\p{Lu}|\s*$)/u.exec(line)?.index ?? line.length;
  return line
    .slice(0, end)
    .trim()
    .replace(/^\*{1,2}(.+?)\*{1,2}$/, '$1')
    .replace(/^\$(.+)\$$/, '$1')
    .trim();
}
