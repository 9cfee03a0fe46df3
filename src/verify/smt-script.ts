/** What an SMT-LIB 2 encoding may say: declarations and assertions; everything that could steer the solver is kept out. */

/** A checked encoding: its commands as text, and the names of its Bool constants. */
export interface Encoding {
  commands: string;
  constants: string[];
}

/** Encodings are small; longer or deeper ones are refused rather than handed to a parser. */
const largest = 64 * 2 ** 10;
const deepest = 200;

const kept = new Set([
  ...['declare-const', 'declare-fun', 'declare-sort', 'declare-datatype', 'declare-datatypes'],
  ...['define-fun', 'define-const', 'define-sort', 'assert'],
]);
/** Harmless, and the solver's own turn: queries and answers are ours. */
const dropped = new Set(['check-sat', 'get-model', 'get-value', 'set-logic', 'set-info', 'echo', 'exit']);

/** Read an encoding; an Error says why it can't be used. Options, includes, pushes and resets are refused by name. */
export function readEncoding(text: string): Encoding | Error {
  if (text.length > largest) return new Error(`longer than ${largest} characters`);
  const commands: string[] = [];
  const constants: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { token, at } of tokens(text)) {
    if (token === '(') {
      if (depth === 0) start = at;
      if (++depth > deepest) return new Error(`nested deeper than ${deepest}`);
    } else if (token === ')') {
      if (--depth < 0) return new Error('a ) without its (');
      if (depth > 0) continue;
      const command = text.slice(start, at + 1);
      const [, name = '', first = '', second = '', third = ''] = tokens(command).map((part) => part.token);
      if (dropped.has(name)) continue;
      if (!kept.has(name)) return new Error(`the command ${name || '()'} is not allowed`);
      if (name === 'declare-const' && second === 'Bool') constants.push(first);
      if (name === 'declare-fun' && second === '(' && third === ')' && /\)\s*Bool\s*\)$/.test(command))
        constants.push(first);
      commands.push(command);
    } else if (depth === 0) {
      return new Error(`a word outside of any command: ${token.slice(0, 40)}`);
    }
  }
  if (depth > 0) return new Error('a ( without its )');
  return { commands: commands.join('\n'), constants };
}

/** Parentheses and words; comments, strings and |quoted| symbols are one piece each. */
function tokens(text: string): { token: string; at: number }[] {
  const found: { token: string; at: number }[] = [];
  for (const match of text.matchAll(/;[^\n]*|"(?:[^"]|"")*"?|\|[^|]*\|?|[()]|[^\s()";|]+/g)) {
    if (!match[0].startsWith(';')) found.push({ token: match[0], at: match.index });
  }
  return found;
}
