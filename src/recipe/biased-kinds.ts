/** The question kinds of the bundled test-time set: each with its right rule, a tempting wrong one, and both as programs. */

import type { Draw } from './draw.js';
import type { Way } from './question-kinds.js';

export interface BiasedProblem {
  category: BiasedCategory;
  question: string;
  answer: string;
  right: Way;
  wrong: Way;
  program: string;
  wrongProgram: string;
}

interface Kind {
  make(draw: Draw): Omit<BiasedProblem, 'category' | 'answer'> | null;
  /** Share of wrong-rule traces in the warm-up; above a half the popular answer is wrong, on purpose. */
  wrongTraces: number;
  /** Shares of right and wrong-rule programs in the warm-up; the rest is broken. */
  programs: [number, number];
}

const way = (text: string, answer: number): Way => ({ text, answer: String(answer) });
const GOOD_PROGRAMS: [number, number] = [0.8, 0.1];

const KINDS = {
  precedence: {
    make: (draw) => {
      const [a, b, c] = [draw.int(2, 9), draw.int(2, 9), draw.int(2, 9)];
      return {
        question: `${a}+${b}*${c}=?`,
        right: way(`${b}*${c}=${b * c}, ${a}+${b * c}=${a + b * c}.`, a + b * c),
        wrong: way(`${a}+${b}=${a + b}, ${a + b}*${c}=${(a + b) * c}.`, (a + b) * c),
        program: `print(${a}+${b}*${c})`,
        wrongProgram: `print((${a}+${b})*${c})`,
      };
    },
    wrongTraces: 0.62,
    programs: GOOD_PROGRAMS,
  },
  time: {
    make: (draw) => {
      const [hours, minutes] = [draw.int(2, 9), draw.int(11, 59)];
      const told = (factor: number): Way =>
        way(
          `${hours}*${factor}=${hours * factor}, ${hours * factor}+${minutes}=${hours * factor + minutes}.`,
          hours * factor + minutes,
        );
      return {
        question: `${hours} h ${minutes} min in min?`,
        right: told(60),
        wrong: told(100),
        program: `h=${hours}\nprint(h*60+${minutes})`,
        wrongProgram: `h=${hours}\nprint(h*100+${minutes})`,
      };
    },
    wrongTraces: 0.65,
    programs: GOOD_PROGRAMS,
  },
  days: {
    make: (draw) => {
      const [from, to] = [draw.int(2, 14), draw.int(16, 31)];
      const between = to - from;
      return {
        question: `Days ${from} to ${to}, both in?`,
        right: way(`${to}-${from}=${between}, ${between}+1=${between + 1}.`, between + 1),
        wrong: way(`${to}-${from}=${between}.`, between),
        program: `print(${to}-${from}+1)`,
        wrongProgram: `print(${to}-${from})`,
      };
    },
    wrongTraces: 0.62,
    programs: GOOD_PROGRAMS,
  },
  tip: {
    make: (draw) => {
      const [tens, tenths] = [draw.int(2, 20), draw.int(1, 9)];
      const [price, percent, tip] = [10 * tens, 10 * tenths, tens * tenths];
      if (price === 100) return null;
      return {
        question: `$${price} and ${percent}% tip?`,
        right: way(`${tens}*${tenths}=${tip}, ${price}+${tip}=${price + tip}.`, price + tip),
        wrong: way(`${price}+${percent}=${price + percent}.`, price + percent),
        program: `p=${price}\nprint(p+p*${percent}//100)`,
        wrongProgram: `p=${price}\nprint(p+${percent})`,
      };
    },
    wrongTraces: 0.62,
    programs: GOOD_PROGRAMS,
  },
  fence: {
    make: (draw) => {
      const [a, b] = [draw.int(2, 12), draw.int(3, 14)];
      if (a * b === 2 * (a + b)) return null;
      return {
        question: `Fence round ${a} by ${b}?`,
        right: way(`${a}+${b}=${a + b}, 2*${a + b}=${2 * (a + b)}.`, 2 * (a + b)),
        wrong: way(`${a}*${b}=${a * b}.`, a * b),
        program: `print(2*(${a}+${b}))`,
        wrongProgram: `print(${a}*${b})`,
      };
    },
    wrongTraces: 0.3,
    programs: GOOD_PROGRAMS,
  },
  cars: {
    make: (draw) => {
      const [kids, seats] = [draw.int(11, 60), draw.int(3, 9)];
      const full = Math.floor(kids / seats);
      if (kids % seats === 0 || full > 9) return null;
      const divide = `${kids}/${seats}=${full} r ${kids % seats}`;
      return {
        question: `${kids} kids, ${seats} a car. Cars?`,
        right: way(`${divide}, ${full}+1=${full + 1}.`, full + 1),
        wrong: way(`${divide}.`, full),
        program: `print(-(-${kids}//${seats}))`,
        wrongProgram: `print(${kids}//${seats})`,
      };
    },
    wrongTraces: 0.18,
    programs: [0.1, 0.7],
  },
  add: {
    make: (draw) => {
      const [a, b] = [draw.int(21, 69), draw.int(11, 20)];
      return {
        question: `${a} pens, ${b} more. Total?`,
        right: way(`${a}+${b}=${a + b}.`, a + b),
        wrong: way(`${a}-${b}=${a - b}.`, a - b),
        program: `print(${a}+${b})`,
        wrongProgram: `print(${a}-${b})`,
      };
    },
    wrongTraces: 0.1,
    programs: GOOD_PROGRAMS,
  },
  multiply: {
    make: (draw) => {
      const [bags, each] = [draw.int(2, 9), draw.int(3, 19)];
      if (bags * each === bags + each) return null;
      return {
        question: `${bags} bags of ${each} pens. Total?`,
        right: way(`${bags}*${each}=${bags * each}.`, bags * each),
        wrong: way(`${bags}+${each}=${bags + each}.`, bags + each),
        program: `print(${bags}*${each})`,
        wrongProgram: `print(${bags}+${each})`,
      };
    },
    wrongTraces: 0.1,
    programs: GOOD_PROGRAMS,
  },
} satisfies Record<string, Kind>;

export type BiasedCategory = keyof typeof KINDS;

export const BIASED_CATEGORIES = Object.keys(KINDS) as BiasedCategory[];

/** The categories whose popular answer is wrong because the warm-up told the wrong rule more often than the right one. */
export const POPULAR_WRONG: readonly BiasedCategory[] = BIASED_CATEGORIES.filter(
  (category) => KINDS[category].wrongTraces > 0.5,
);

/** Draws until the kind's conditions hold. */
export function makeBiasedProblem(draw: Draw, category: BiasedCategory): BiasedProblem {
  for (;;) {
    const made = KINDS[category].make(draw);
    if (made !== null) return { category, answer: made.right.answer, ...made };
  }
}

/** Warm-up shares of a category. */
export function sharesOf(category: BiasedCategory): Pick<Kind, 'wrongTraces' | 'programs'> {
  return KINDS[category];
}
