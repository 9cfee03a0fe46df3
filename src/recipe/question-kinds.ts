/** The question categories of the bundled VeriFree set: each makes a question with one right and two sloppy ways to it. */

import type { Draw } from './draw.js';

/** A way to an answer: what the trace says, and what it concludes. */
export interface Way {
  text: string;
  answer: string;
}

export interface Problem {
  category: string;
  question: string;
  answer: string;
  careful: Way;
  /** Leaves the last step out. */
  quick: Way;
  /** Follows a wrong rule. */
  wrong: Way;
  /** An answer of the right kind, drawn blindly. */
  guess: string;
  /** The numbers and names that decide the answer, without the wording: two problems of one core are the same sum. */
  core: string;
}

/** @param lucky whether the quick way happens to give the right answer. */
type Kind = (draw: Draw, lucky: boolean) => Omit<Problem, 'category'> | null;

export const NAMES = ['Ann', 'Bob', 'Cal', 'Dan', 'Eve', 'Fay', 'Gus', 'Hal'] as const;
const THINGS = ['apples', 'pens', 'coins', 'books', 'eggs', 'cards'] as const;
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
const UNITS = [
  ['hours', 'minutes', 60],
  ['weeks', 'days', 7],
  ['days', 'hours', 24],
  ['years', 'months', 12],
] as const;
const RELATIONS = [
  ['older', 'younger', 'oldest', 'youngest'],
  ['taller', 'shorter', 'tallest', 'shortest'],
  ['faster', 'slower', 'fastest', 'slowest'],
] as const;

const day = (index: number): string => DAYS[((index % 7) + 7) % 7]!;
const way = (text: string, answer: string | number): Way => ({ text, answer: String(answer) });
const someNumber = (draw: Draw): string => String(draw.int(1, 79));

/** Buys some and gives some away; lucky: the third number has nothing to do with the count. */
const arithmetic: Kind = (draw, lucky) => {
  const [name, thing] = [draw.pick(NAMES), draw.pick(THINGS)];
  const [a, b, c] = [draw.int(11, 79), draw.int(2, 9), draw.int(2, 9)];
  if (b === c) return null;
  const first = `${a}+${b}=${a + b}.`;
  const verb = draw.pick(lucky ? ['paints', 'counts'] : ['gives away', 'loses']);
  const total = lucky ? a + b : a + b - c;
  return {
    question: `${name} has ${a} ${thing}, buys ${b} more and ${verb} ${c}. How many ${thing} does ${name} have?`,
    answer: String(total),
    careful: way(lucky ? first : `${first} ${a + b}-${c}=${total}.`, total),
    quick: way(first, a + b),
    wrong: lucky ? way(`${a}-${b}=${a - b}.`, a - b) : way(`${a}-${c}=${a - c}.`, a - c),
    guess: someNumber(draw),
    core: `${a} ${b} ${c} ${lucky}`,
  };
};

/** The larger of two sums; lucky: the first person has more. */
const comparison: Kind = (draw, lucky) => {
  const [first, second] = draw.sample(NAMES, 2) as [string, string];
  const thing = draw.pick(THINGS);
  const [a, b, c, d] = [draw.int(11, 69), draw.int(2, 9), draw.int(11, 69), draw.int(2, 9)];
  const [left, right] = [a + b, c + d];
  if (left === right || left > right !== lucky) return null;
  const most = Math.max(left, right);
  return {
    question: `${first} has ${a} ${thing} and gets ${b}. ${second} has ${c} and gets ${d}. How many has the one with more?`,
    answer: String(most),
    careful: way(`${first} ${a}+${b}=${left}. ${second} ${c}+${d}=${right}. ${most} is more.`, most),
    quick: way(`${first} ${a}+${b}=${left}.`, left),
    wrong: way(`${b}+${d}=${b + d}.`, b + d),
    guess: someNumber(draw),
    core: `${a} ${b} ${c} ${d}`,
  };
};

/** Counts days on from today; lucky: one or two days, which is as far as the quick way counts. */
const weekday: Kind = (draw, lucky) => {
  const name = draw.pick(NAMES);
  const verb = draw.pick(['leaves', 'returns', 'sings', 'moves']);
  const [today, days] = [draw.int(0, 6), lucky ? draw.int(1, 2) : draw.int(3, 13)];
  if ((!lucky && days % 7 === 2) || days % 7 === 6) return null;
  const count = (until: number): string =>
    Array.from({ length: until }, (_, i) => `${day(today + i + 1)} ${i + 1}`).join(', ') + '.';
  const weekOff = days > 7 ? `${days}-7=${days - 7}. ` : '';
  const quick = Math.min(days, 2);
  const question = `Today is ${day(today)}. ${name} ${verb} in ${days} ${days === 1 ? 'day' : 'days'}. What day is that?`;
  return {
    question,
    answer: day(today + days),
    careful: way(weekOff + count(days > 7 ? days - 7 : days), day(today + days)),
    quick: way(count(quick), day(today + quick)),
    wrong: way(`${day(today - 1)}.`, day(today - 1)),
    guess: draw.pick(DAYS),
    // Only 70 such sums exist, so here the wording counts too.
    core: question,
  };
};

/** Adds minutes to a time of day; lucky: the hour does not change. */
const clock: Kind = (draw, lucky) => {
  const name = draw.pick(NAMES);
  const verb = draw.pick(['walks', 'reads', 'rests', 'waits']);
  const [hour, minute, more] = [draw.int(1, 11), 5 * draw.int(0, 11), 5 * draw.int(1, 11)];
  const sum = minute + more;
  if (sum < 60 !== lucky) return null;
  const time = (h: number, m: number): string => `${h}:${String(m).padStart(2, '0')}`;
  const answer = lucky ? time(hour, sum) : time(hour + 1, sum - 60);
  const add = `${minute}+${more}=${sum}.`;
  return {
    question: `It is ${time(hour, minute)}. ${name} ${verb} ${more} minutes. What time is it then?`,
    answer,
    careful: way(lucky ? add : `${add} ${sum}-60=${sum - 60}. ${hour}+1=${hour + 1}.`, answer),
    quick: way(add, time(hour, sum)),
    wrong: way(`${hour}+1=${hour + 1}.`, time(hour + 1, minute)),
    guess: time(draw.int(1, 12), 5 * draw.int(0, 11)),
    core: `${hour} ${minute} ${more}`,
  };
};

/** Converts a length of time; lucky: the second number is no time at all. */
const units: Kind = (draw, lucky) => {
  const name = draw.pick(NAMES);
  const [large, small, factor] = draw.pick(UNITS);
  const count = draw.int(2, 9);
  const extra = factor === 7 ? draw.int(2, 6) : draw.int(2, 9);
  const product = count * factor;
  const total = lucky ? product : product + extra;
  const second = lucky ? `with ${extra} ${draw.pick(THINGS)}` : `and ${extra} ${small}`;
  const multiply = `${count}*${factor}=${product}.`;
  return {
    question: `${name} waits ${count} ${large} ${second}. How many ${small} is the wait?`,
    answer: String(total),
    careful: way(lucky ? multiply : `${multiply} ${product}+${extra}=${total}.`, total),
    quick: way(multiply, product),
    wrong: way(`${count}+${extra}=${count + extra}.`, count + extra),
    guess: someNumber(draw),
    core: `${count} ${factor} ${extra} ${lucky}`,
  };
};

/** Two comparisons make a line of three; lucky: the name that is mentioned first is the answer. */
const order: Kind = (draw, lucky) => {
  const [x, y, z] = draw.sample(NAMES, 3) as [string, string, string];
  const [more, less, most, least] = draw.pick(RELATIONS);
  const say = (a: string, b: string): string =>
    draw.chance(0.5) ? `${a} is ${more} than ${b}.` : `${b} is ${less} than ${a}.`;
  const told = [say(x, y), say(y, z)];
  const pairs = [`${x} over ${y}.`, `${y} over ${z}.`];
  if (draw.chance(0.5)) for (const list of [told, pairs]) list.reverse();
  const top = draw.chance(0.5);
  const [first, last] = [told[0]!.split(' ')[0]!, told[1]!.split(' ')[4]!.slice(0, -1)];
  const answer = top ? x : z;
  if ((first === answer) !== lucky) return null;
  return {
    question: `${told.join(' ')} Who is the ${top ? most : least}?`,
    answer,
    careful: way(`${pairs.join(' ')} ${x}, ${y}, ${z}.`, answer),
    quick: way(`${first}.`, first),
    wrong: way(`${last}.`, last),
    guess: draw.pick(NAMES),
    core: `${told.join(' ')} ${top}`,
  };
};

/** A number that grows by the same step each day; lucky: one day only. */
const growth: Kind = (draw, lucky) => {
  const [name, thing] = [draw.pick(NAMES), draw.pick(THINGS)];
  const [start, step, days] = [draw.int(11, 59), draw.int(2, 9), lucky ? 1 : draw.int(2, 4)];
  const total = start + step * days;
  const count = Array.from({ length: days }, (_, i) => `${start + step * (i + 1)} ${i + 1}`).join(', ');
  return {
    question: `${name} has ${start} ${thing} and gets ${step} more each day. How many ${thing} after day ${days}?`,
    answer: String(total),
    careful: way(`${count}.`, total),
    quick: way(`${start + step} 1.`, start + step),
    wrong: way(`${step}*${days}=${step * days}.`, step * days),
    guess: someNumber(draw),
    core: `${start} ${step} ${days}`,
  };
};

/** What is left after sharing; lucky: everyone gets just one. */
const remainder: Kind = (draw, lucky) => {
  const [name, thing] = [draw.pick(NAMES), draw.pick(THINGS)];
  const friends = lucky ? draw.int(11, 29) : draw.int(3, 9);
  const [each, left] = [lucky ? 1 : draw.int(2, 9), draw.int(0, friends - 1)];
  const all = friends * each + left;
  const given = friends * each;
  return {
    question: `${name} shares ${all} ${thing} among ${friends} friends. How many ${thing} are left over?`,
    answer: String(left),
    careful: way(`${friends}*${each}=${given}. ${all}-${given}=${left}.`, left),
    quick: way(`${all}-${friends}=${all - friends}.`, all - friends),
    wrong: way(`${friends}.`, friends),
    guess: String(draw.int(0, 9)),
    core: `${all} ${friends}`,
  };
};

const KINDS = { arithmetic, comparison, weekday, clock, units, order, growth, remainder };

/** The eight categories, in the order in which sets go round them. */
export const CATEGORIES = Object.keys(KINDS) as (keyof typeof KINDS)[];

/** Of the problems with this index in their category, the quick way is right for three in eight. */
export function isLucky(index: number): boolean {
  return index % 8 < 3;
}

/** Draws until the category's conditions hold. */
export function makeProblem(draw: Draw, category: keyof typeof KINDS, lucky: boolean): Problem {
  for (;;) {
    const made = KINDS[category](draw, lucky);
    if (made !== null) return { category, ...made };
  }
}
