/** `npm run cases [-- --dir DIR]`: judges the shared answer and letter cases and prints how many are right. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { extractChoice } from '../src/text/answer.js';
import { equal } from '../src/text/equal.js';

interface MathCase {
  id: string;
  gold: string;
  pred: string;
  equal: boolean;
}

interface ChoiceCase {
  id: string;
  text: string;
  options: string[];
  expected: string | null;
}

const { values } = parseArgs({ options: { dir: { type: 'string' }, verbose: { type: 'boolean' } } });
const dir =
  values.dir === undefined
    ? fileURLToPath(new URL('../../shared/cases', import.meta.url))
    : resolve(values.dir);

function rows<T>(name: string): T[] | undefined {
  const path = join(dir, name);
  if (!existsSync(path)) {
    console.log(`skipped: no ${path}`);
    return undefined;
  }
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as T);
}

function judgeMath(cases: readonly MathCase[]): void {
  for (const each of cases) equal(each.gold, each.pred); // so that compiling the code is not timed
  const times: number[] = [];
  let right = 0;
  let falseEqual = 0;
  for (const each of cases) {
    const start = process.cpuUsage();
    const verdict = equal(each.gold, each.pred);
    const { user, system } = process.cpuUsage(start); // other programs on the machine do not count
    times.push((user + system) / 1000);
    if (verdict === each.equal) right++;
    else if (values.verbose) console.log(`${each.id}: ${each.gold} | ${each.pred} | said ${verdict}`);
    if (verdict && !each.equal) falseEqual++;
  }
  times.sort((a, b) => a - b);
  const max = Math.ceil(times.at(-1) ?? 0);
  console.log(`math: ${right}/${cases.length} right, ${falseEqual} false equal, max ${max} ms`);
  if (values.verbose) console.log(`median ${(times[times.length >> 1] ?? 0).toFixed(3)} ms`);
}

function judgeChoices(cases: readonly ChoiceCase[]): void {
  let right = 0;
  let answered = 0;
  for (const each of cases) {
    const letter = extractChoice(each.text, each.options);
    if (letter === each.expected) right++;
    else if (values.verbose) console.log(`${each.id}: expected ${each.expected}, said ${letter}`);
    if (letter !== null && each.expected === null) answered++;
  }
  console.log(`mcq: ${right}/${cases.length} right, ${answered} answered where null`);
}

const math = rows<MathCase>('math_equiv_cases.jsonl');
if (math !== undefined) judgeMath(math);
const choices = rows<ChoiceCase>('mcq_extract_cases.jsonl');
if (choices !== undefined) judgeChoices(choices);
