/** Finds the stated answer in a model's reply: the last box, or the letter of a multiple-choice option. */
import { boxes, lastBox } from './box.js';
import { answeringPart, answerTag } from './choice/cut.js';
import { letterAlone, letterWithText } from './choice/letter.js';
import { type Options, optionNamed, optionsOf, unwrapped, valid } from './choice/option.js';
import { lastStatement } from './choice/statement.js';

/**
 * The content of the last box (`\boxed{…}`, `\fbox{…}`, `\boxed 7`), trimmed; of nested boxes the inner one.
 * Null when there is no box, or the last one is empty or never closed (a reply cut by the token limit).
 */
export function extractBoxed(text: string): string | null {
  const content = lastBox(text)?.content?.trim() ?? '';
  return content === '' ? null : content;
}

/** Statements are looked for in this many characters at the end of a reply. */
const tailLength = 8000;

/**
 * The letter of the option that a reply chooses; null when it states none, several, or one that the question does
 * not have: nothing is ever guessed. `options`: the option texts in order, or their number. Thinking, later turns
 * and self-made questions are cut; then the last `<answer>`, the last box, the last statement (`the answer is C`),
 * a line that is a letter, and a line that is an option's text are tried in this order. Linear in the reply.
 */
export function extractChoice(text: string, options: readonly string[] | number): string | null {
  const known = optionsOf(options);
  const reply = answeringPart(text);
  if (reply === null) return null;
  const said = (answerTag(reply) ?? reply).trim();
  const boxed = fromBox(said, known);
  if (boxed !== undefined) return boxed;
  const stated = lastStatement(tailOf(said), known);
  return stated !== null ? stated.letter : fromLines(said, known);
}

/** The choice in the last box; undefined when there is none, or it is empty or unclosed and other rules may decide. */
function fromBox(text: string, options: Options): string | null | undefined {
  const box = lastBox(text);
  const content = boxes(text).trim();
  if (box === null || content === '') return undefined;
  const letter = choiceOf(content, options, false);
  if (letter !== null || content !== box.content?.trim()) return letter;
  return lastStatement(tailOf(text.slice(box.end)), options)?.letter ?? null;
}

/** The end of a text, with one form of each sign and letter. */
function tailOf(text: string): string {
  return text.slice(-tailLength).normalize('NFKC');
}

/** What a box or a line says when it is nothing but a choice. @param bare whether a value must stand alone */
function choiceOf(line: string, options: Options, bare: boolean): string | null {
  const alone = letterAlone(line);
  if (alone !== null) return valid(alone, options);
  const named = optionNamed(line, options, bare);
  if (named !== null) return named;
  const labelled = letterWithText(unwrapped(line.trim()));
  if (labelled === null) return null;
  return optionNamed(labelled.rest, options, true) === null ? null : valid(labelled.letter, options);
}

/** The choice of a reply that is only that, or begins or ends with a line that is. */
function fromLines(said: string, options: Options): string | null {
  const text =
    said.length <= 4000 ? said.normalize('NFKC') : `${said.slice(0, 2000)}${tailOf(said).slice(-2000)}`;
  const whole = text.length <= 2000 ? choiceOf(text, options, true) : null;
  if (whole !== null) return whole;
  const head = text.slice(0, 2000).split('\n');
  const tail = text.slice(-2000).split('\n');
  const labels = [...head, ...tail].map((line) => letterWithText(unwrapped(line.trim()))?.letter);
  if (new Set(labels.filter((each) => each !== undefined)).size > 1) return null;
  return choiceOf(tail.at(-1)!, options, true) ?? choiceOf(head[0]!, options, true) ?? opening(text, options);
}

/** A reply that opens with its letter and then explains: `C, because …`. */
function opening(text: string, options: Options): string | null {
  const match =
    /^[*_`(]{0,3}([A-Z])[*_`)]{0,3}(?:\s*[,;:–—-]\s*|\.?\s+)(?:because|since|as|due to|the reason)\b/i.exec(
      text.slice(0, 80),
    );
  return match === null ? null : valid(match[1]!, options);
}
