/** Cuts a reply to the part in which the model answers: no thinking, no next turn, no question it asks itself. */

const turnTokens = [
  '<|im_end|>',
  '<|im_start|>',
  '<|endoftext|>',
  '<|eot_id|>',
  '<|end_of_text|>',
  '<|end|>',
  '<|user|>',
  '<end_of_turn>',
  '<start_of_turn>',
  '</s>',
  '[INST]',
  '<｜end▁of▁sentence｜>',
  '<｜User｜>',
];

/** A line that opens a question, where it stands. */
const newQuestion =
  /\n[ \t]*(?:[#*>]+[ \t]*)?(?:(?:next |new )?(?:question|problem|exercise)\b[ \t]*\d{0,4}|q\d{0,4}|user|human|instruction|frage|pregunta|问题|题目)[*]{0,2}[ \t]*(?:[:：.]|(?=\n))/iuy;

/** The reply up to the first turn token or self-made question, without thinking; null when the thinking never ends. */
export function answeringPart(reply: string): string | null {
  const spoken = withoutThinking(reply);
  if (spoken === null) return null;
  let end = spoken.length;
  for (const token of turnTokens) {
    const at = spoken.indexOf(token);
    if (at >= 0 && at < end && spoken.slice(0, at).trim() !== '') end = at;
  }
  const text = spoken.slice(0, end);
  const start = text.search(/\S/);
  if (start < 0) return '';
  for (let line = text.indexOf('\n', start); line >= 0; line = text.indexOf('\n', line + 1)) {
    newQuestion.lastIndex = line;
    if (newQuestion.test(text)) return text.slice(0, line);
  }
  return text;
}

/** A close tag without an open one ends thinking that the template began. */
function withoutThinking(reply: string): string | null {
  let text = reply;
  for (const tag of ['think', 'thinking']) {
    const [open, close] = [`<${tag}>`, `</${tag}>`];
    let from = 0;
    let kept = '';
    const [firstOpen, firstClose] = [text.indexOf(open), text.indexOf(close)];
    if (firstClose >= 0 && (firstOpen < 0 || firstClose < firstOpen)) from = firstClose + close.length;
    for (;;) {
      const start = text.indexOf(open, from);
      if (start < 0) break;
      kept += text.slice(from, start);
      const end = text.indexOf(close, start);
      if (end < 0) return null;
      from = end + close.length;
    }
    text = kept + text.slice(from);
  }
  return text;
}

/** The body of the last `<answer>`; null when there is none. */
export function answerTag(text: string): string | null {
  const start = text.lastIndexOf('<answer>');
  if (start < 0) {
    const close = text.lastIndexOf('</answer>');
    return close < 0 ? null : text.slice(0, close);
  }
  const body = text.slice(start + '<answer>'.length);
  const end = body.indexOf('</answer>');
  return end < 0 ? body : body.slice(0, end);
}
