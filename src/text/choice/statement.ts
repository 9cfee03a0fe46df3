/** Finds the sentences in which a reply states its choice: `the answer is C`, `D is correct`, `I choose (B)`. */
import { type Letter, letterAt } from './letter.js';
import { type Options, optionAtStart, optionNamed, valid } from './option.js';

/** A stated choice at a place; the letter is null where the statement names no one option. */
interface Statement {
  readonly at: number;
  readonly letter: string | null;
}

const noun =
  /(?<![\p{L}\p{N}])(?:answers?|ans|option|choice|selection|pick|response|antwort|lösung|réponse|respuesta|risposta|resposta|ответ)(?![\p{L}\p{N}])|答案|选项|正确选项|正解|答え|정답/giu;
/** From the noun to the verb or sign that joins it with the letter; nothing that ends a sentence lies between. */
const link =
  /[*_`"')\]]{0,4}(?:(?:[^\n.!?:：=()]|\([^()\n]{1,12}\)){0,60}?\s(?:is|are|was|be|being|becomes|remains|ist|lautet|est|es|sera|é|è)(?![\p{L}\p{N}])|[ \t]*(?:是|为|は|은|는)|[^\n.!?:：=()]{0,40}?\s*[:：=→]|\s*(?:[-–—]|->)(?=\s))[*_`]{0,3}\s*(?:[:：]|\\?\s)*/iuy;
const adverbs =
  /(?:(?:therefore|thus|hence|clearly|then|indeed|definitely|actually|simply|still|obviously|certainly|probably|likely|most likely|most probably|again|now|also|just|only|best|given by|represented by|found in|the following|as follows|in fact|of course|,|:)\s*)*/iy;
const refusal =
  /\b(?:not|n't|never|cannot|neither|none|either|might|could|may|can|if|whether|unless|isn't|suppose|assuming)\s*$/i;
const uncertain =
  /^(?:[^\n.!?:：=()]{0,40}\b(?:might|could|may|can't|cannot|can not|not|isn't|never|n't)\b)/i;
const after =
  /^\s*(?:not|neither|either|none|never|n't|unclear|unknown|uncertain|undetermined|impossible)\b/i;
const notBut = /not\s+[*(]{0,3}(?:option\s+)?[A-Z][*)]{0,3}\s*,?\s*but(?:\s+rather|\s+instead|\s+is)?\s+/iy;

const verbs =
  /\b(?:(?:I|we)(?:'ll|'d|’ll|’d|\s+(?:will|would|shall|must|should|can|have to|am going to|are going to))?\s+(?:(?:therefore|thus|hence|then|finally|confidently|also|now)\s+)?(?:choose|pick|select|go with|opt for|settle on|vote for|conclude (?:that )?(?:it is|it's)|answer(?: with)?)|(?:I am|I'm|we are|we're)\s+going with|let(?:'s|’s| us| me)\s+(?:go with|choose|pick|select)|leav(?:es|ing)(?:\s+us)?(?:\s+with)?(?:\s+only)?)\s*:?\s*/giu;
const correct =
  /^[*_`"')\]}$]{0,4}\s*(?:,\s*)?(?:(?:(?:must|would|should|has to|seems to|appears to)\s+be|is|seems|looks|as)\s+|(?=the\b))(?:(?:clearly|therefore|thus|indeed|definitely|obviously|then|actually|certainly|probably|likely|hence|in fact)\s+)?(?:the\s+|our\s+|my\s+)?(?:(?:only|most|single|best|one)\s+)?(?:(?:likely|accurate|appropriate|suitable|plausible)\s+)?(?:correct|right|best|answer|choice|true answer|one that is correct|appropriate|suitable)\b(?!\s+(?:if|only if|when|to (?:say|think)))/iu;
const subject =
  /(?:^|[\s*_`"'([{$])(?:(?:option|choice|answer)\s+)?[*_`"'([{$]{0,4}([A-Z])(?=[*_`"')\]}$]{0,4}\s*(?:,\s*)?(?:must|would|should|has|is|seems|looks|appears|as|the)\b)/gu;
const conditional =
  /\b(?:if|whether|unless|suppose|assume|assuming|imagine|check|nor|neither|or|and|both|why|because|not|that's|than)\s*(?:that\s+)?(?:option\s+|choice\s+|answer\s+)?[*_`"'([{$]*$/i;
const listed =
  /[A-Z][)\]*]*\s*(?:,?\s*(?:nor|or|and|&)|[,/])\s*(?:option\s+|choice\s+)?[*_`"'([{$]*$|\bboth\s*[*_`"'([{$]*$/;
const concludes =
  /\b(?:corresponds? to|which is|matches|this is|that is|it is|it's|is given by|agrees with|(?:so|therefore|thus|hence)(?:,?\s+(?:it is|it's|this is))?)(?![\p{L}])[\s,:]*(?:the\s+)?(?:(?:correct\s+)?(?:option|choice|answer)\s*)?/giu;

/** Of each kind of statement only this many are looked at, from the end of the text backwards. */
const candidates = 48;

/** The last stated choice in the text, or null when there is none. */
export function lastStatement(text: string, options: Options): Statement | null {
  let last: Statement | null = null;
  for (const [pattern, read] of kinds) {
    const matches = [...text.matchAll(pattern)].slice(-candidates).reverse();
    for (const match of matches) {
      if (last !== null && match.index < last.at) break;
      const statement = read(text, match, options);
      if (statement === null) continue;
      if (last === null || statement.at > last.at) last = statement;
      break;
    }
  }
  return last;
}

type Match = RegExpMatchArray & { index: number };

const kinds: readonly (readonly [
  RegExp,
  (text: string, match: Match, options: Options) => Statement | null,
])[] = [
  [noun, byNoun],
  [verbs, byVerb],
  [subject, bySubject],
  [concludes, atTheEnd],
];

/** `The answer is C`. */
function byNoun(text: string, match: Match, options: Options): Statement | null {
  const at = match.index;
  const end = at + match[0].length;
  if (
    /\b(?:not|n't)\s+(?:the|an?|my)?\s*(?:correct\s+|right\s+)?$/i.test(text.slice(Math.max(0, at - 30), at))
  )
    return null;
  link.lastIndex = end;
  const joined = link.exec(text);
  if (joined === null) return besides(text, match, options);
  if (uncertain.test(joined[0]) && !/\b(?:must|should|would)\b/i.test(joined[0])) return null;
  const said = target(text, link.lastIndex, options);
  return said === undefined ? null : { at: link.lastIndex, letter: said };
}

/** `Answer C.` without a verb. */
function besides(text: string, match: Match, options: Options): Statement | null {
  const end = match.index + match[0].length;
  if (!/^(?:answer|ans|答案)$/i.test(match[0]) || !/\s/.test(text[end] ?? '')) return null;
  const letter = letterAt(text, end, false);
  if (letter === null || !/^\s*(?:[.\n,;]|$)/.test(text.slice(letter.end, letter.end + 20))) return null;
  return { at: end, letter: stated(letter, options) };
}

/** `I choose C`. */
function byVerb(text: string, match: Match, options: Options): Statement | null {
  if (refusal.test(text.slice(Math.max(0, match.index - 15), match.index))) return null;
  const letter = letterAt(text, match.index + match[0].length, false);
  return letter === null ? null : { at: match.index, letter: stated(letter, options) };
}

/** `C is correct`; of `A and C is correct` neither. */
function bySubject(text: string, match: Match, options: Options): Statement | null {
  const at = match.index;
  const end = at + match[0].length;
  const after = text.slice(end, end + 100);
  const made =
    /^[^\p{L}]*the\b/u.test(after) &&
    !/\b(?:mak|leav|confirm|render)\w*\W*$/i.test(text.slice(Math.max(0, at - 20), at + 1));
  if (made || !correct.test(after)) return null;
  if (/^[^.!\n]{0,60}\?/.test(text.slice(end, end + 61))) return null;
  const lead = text.slice(Math.max(0, at - 30), end - 1);
  const clause = text
    .slice(Math.max(0, at - 80), at + 1)
    .split(/[.!?,;:\n]/)
    .at(-1)!;
  if (
    /\b(?:not|never|doubt|doubtful|unlikely|unclear|cannot|whether|if)\b|n['’]t\b/i.test(clause) &&
    !listed.test(lead)
  )
    return null;
  if (listed.test(lead)) return { at, letter: null };
  if (conditional.test(lead) && !/\b(?:and|or)\W*$/i.test(lead)) return null;
  return { at, letter: valid(match[1]!, options) };
}

/** `24 N, which is option C.` counts only as the end of the reply. */
function atTheEnd(text: string, match: Match, options: Options): Statement | null {
  const at = match.index;
  if (text.length - at > 200) return null;
  const letter = letterAt(text, at + match[0].length, false);
  if (letter === null || !/^[\s.!*$]*$/.test(text.slice(letter.end))) return null;
  const begins = /(?:^|[.!?\n])\s*$/.test(text.slice(Math.max(0, at - 20), at));
  if (!begins && !/(?:option|choice|answer)\s*$|[^\w\s]$/i.test(match[0])) return null;
  if (/\b(?:not|n't|never|neither)\b[^.]*$/i.test(text.slice(Math.max(0, at - 40), at))) return null;
  return { at, letter: stated(letter, options) };
}

/** The choice named at a place: undefined when none is, null when it is no one option. */
function target(text: string, from: number, options: Options): string | null | undefined {
  adverbs.lastIndex = from;
  let at = from + (adverbs.exec(text)?.[0].length ?? 0);
  notBut.lastIndex = at;
  const contrast = notBut.exec(text);
  if (contrast !== null) at += contrast[0].length;
  else if (after.test(text.slice(at, at + 20)))
    return /^\s*either\b/i.test(text.slice(at, at + 20)) ? null : undefined;
  const line = text
    .slice(at, at + 400)
    .replace(/^\s+/, '')
    .split('\n', 1)[0]!;
  const named = optionAtStart(line, options);
  if (named !== null) return named;
  const letter = letterAt(text, at, true);
  if (letter !== null) return stated(letter, options);
  const besideText = /^[A-Z]\s+(?=\S)/.exec(line);
  if (besideText !== null && optionAtStart(line.slice(besideText[0].length), options) !== null)
    return valid(line[0]!, options);
  const sentence = line.split(/[.;](?=\s|$)/, 1)[0]!;
  return optionNamed(sentence, options) ?? undefined;
}

function stated(letter: Letter, options: Options): string | null {
  return letter.several ? null : valid(letter.letter, options);
}
