/** Knights-and-Knaves puzzles and answers as text, and back: everything the generator writes is read again. */

import type { Claim, Puzzle } from './knights.js';

export type PuzzleForm = 'story' | 'short';

const intro =
  'On an island everybody is a knight or a knave. Knights always tell the truth and knaves always lie.';

/** The puzzle in words. */
export function puzzleText(puzzle: Puzzle, form: PuzzleForm): string {
  const { names, statements } = puzzle;
  const said = statements.map(({ speaker, claim }) => {
    const text = claimText(claim, speaker, names);
    const name = names[speaker]!;
    return form === 'short' ? `${name}: ${text}.` : `${name} says: "${capital(text)}."`;
  });
  if (form === 'short') return `${said.join(' ')} Who is what?`;
  const meet = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return `${intro} You meet ${meet}. ${said.join(' ')} Who is a knight and who is a knave?`;
}

/** `Ava is a knight, Ben is a knave`: one clause a person, in the order of the names. */
export function solutionText(names: readonly string[], knights: readonly boolean[]): string {
  return names.map((name, i) => `${name} is a ${knights[i] ? 'knight' : 'knave'}`).join(', ');
}

/** Read a puzzle in either form; null when any statement is of no known shape, or nobody says anything. */
export function readPuzzle(text: string): Puzzle | null {
  const spoken = [...text.matchAll(/([A-Z][a-z]+) says: "([^"]*?)\.?"/g)];
  const brief = [...text.matchAll(/([A-Z][a-z]+): ([^:".?]*)\./g)];
  const said = spoken.length > 0 ? spoken : brief;
  const met = /You meet ([A-Z][a-z]+(?:(?:, | and |, and )[A-Z][a-z]+)*)\./
    .exec(text)?.[1]
    ?.split(/, and |, | and /);
  const names = met ?? [...new Set(said.map((match) => match[1]!))];
  const statements: Puzzle['statements'] = [];
  for (const [, name = '', words = ''] of said) {
    const speaker = names.indexOf(name);
    const claim = speaker < 0 ? null : readClaim(words.trim(), speaker, names);
    if (claim === null) return null;
    statements.push({ speaker, claim });
  }
  return statements.length === 0 ? null : { names, statements };
}

/**
 * Who an answer says is a knight, in the order of `names`: each must be named exactly once, and nobody else. Null
 * otherwise. Clauses may come in any order, joined by commas, "and" or line ends.
 */
export function readSolution(answer: string, names: readonly string[]): boolean[] | null {
  const clauses = answer
    .replace(/\\text\s*\{([^{}]*)\}/g, '$1')
    .split(/\s*(?:[,;\n]|\band\b)\s*/)
    .map((clause) => clause.replace(/\.$/, '').trim())
    .filter((clause) => clause !== '');
  const knights = new Map<string, boolean>();
  for (const clause of clauses) {
    const match = /^(\w+) (?:is|=) (?:a )?(knight|knave)$/i.exec(clause);
    const name = names.find((known) => known.toLowerCase() === match?.[1]?.toLowerCase());
    if (name === undefined || knights.has(name)) return null;
    knights.set(name, match?.[2]?.toLowerCase() === 'knight');
  }
  const all = names.map((name) => knights.get(name));
  return all.includes(undefined) || names.length === 0 ? null : (all as boolean[]);
}

function claimText(claim: Claim, speaker: number, names: readonly string[]): string {
  const text = (part: Claim): string => claimText(part, speaker, names);
  const name = (person: number): string => (person === speaker ? 'I' : names[person]!);
  switch (claim.kind) {
    case 'is':
      return `${name(claim.person)} ${claim.person === speaker ? 'am' : 'is'} a ${claim.knight ? 'knight' : 'knave'}`;
    case 'same':
      return `${name(claim.left)} and ${name(claim.right)} are of the same kind`;
    case 'differ':
      return `${name(claim.left)} and ${name(claim.right)} are of different kinds`;
    case 'if':
      return `if ${text(claim.left)} then ${text(claim.right)}`;
    case 'iff':
      return `${text(claim.left)} if and only if ${text(claim.right)}`;
    case 'and':
    case 'or':
      return `${text(claim.left)} ${claim.kind} ${text(claim.right)}`;
  }
}

function readClaim(words: string, speaker: number, names: readonly string[]): Claim | null {
  const person = (name: string): number => (name === 'I' ? speaker : names.indexOf(name));
  const pair = /^(\w+) and (\w+) are of (the same kind|different kinds)$/.exec(words);
  if (pair !== null) {
    const [left, right] = [person(pair[1]!), person(pair[2]!)];
    if (left < 0 || right < 0) return null;
    return { kind: pair[3] === 'different kinds' ? 'differ' : 'same', left, right };
  }
  const joined =
    /^(?<left>.+) (?<iff>if and only if) (?<right>.+)$/.exec(words) ??
    /^(?<if>[Ii]f) (?<left>.+),? then (?<right>.+)$/.exec(words) ??
    /^(?<left>.+) (?<join>and|or) (?<right>.+)$/.exec(words);
  if (joined?.groups !== undefined) {
    const { left: first = '', right: second = '', iff, if: condition, join } = joined.groups;
    const left = readClaim(first, speaker, names);
    const right = readClaim(second, speaker, names);
    if (left === null || right === null) return null;
    const kind = iff !== undefined ? 'iff' : condition !== undefined ? 'if' : join === 'or' ? 'or' : 'and';
    return { kind, left, right };
  }
  const plain = /^(\w+) (?:is|am) a (knight|knave)$/.exec(words);
  const index = plain === null ? -1 : person(plain[1]!);
  return index < 0 ? null : { kind: 'is', person: index, knight: plain?.[2] === 'knight' };
}

/** "if …" at the start of a quotation becomes "If …"; names and "I" are capital already. */
function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
