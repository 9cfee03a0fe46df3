/** Random answers for property tests: formulas, structures and strings of their tokens, well-formed or not. */
import fc from 'fast-check';

const number = fc.oneof(
  fc.integer({ min: -20, max: 2000 }).map(String),
  fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 9 })).map(([a, b]) => `${a}.${b}`),
  fc
    .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 }))
    .map(([a, b]) => `\\frac{${a}}{${b}}`),
  fc.constantFrom('\\pi', 'e', 'i', '\\infty', '1,234', '1e-9', '35\\%', '45^\\circ', '3!', '½'),
);
const name = fc.constantFrom('x', 'y', 'n', '\\alpha', 'x_1', 'f(x)');

/** Formulas without relations, brackets closed. */
export const formula: fc.Arbitrary<string> = fc.letrec<{ formula: string }>((tie) => ({
  formula: fc.oneof(
    { maxDepth: 3 },
    number,
    name,
    fc
      .tuple(tie('formula'), fc.constantFrom('+', '-', '\\cdot ', ' ', '/', '\\pm '), tie('formula'))
      .map((parts) => parts.join('')),
    tie('formula').map((a) => `(${a})`),
    tie('formula').map((a) => `\\sqrt{${a}}`),
    tie('formula').map((a) => `\\sin ${a}`),
    tie('formula').map((a) => `|${a}|`),
    fc.tuple(tie('formula'), tie('formula')).map(([a, b]) => `\\frac{${a}}{${b}}`),
    fc.tuple(tie('formula'), tie('formula')).map(([a, b]) => `${a}^{${b}}`),
  ),
})).formula;

/** Values in structures, without relations. */
export const structure: fc.Arbitrary<string> = fc.oneof(
  formula,
  fc.array(formula, { minLength: 1, maxLength: 4 }).map((items) => items.join(', ')),
  fc.array(formula, { minLength: 1, maxLength: 3 }).map((items) => `\\{${items.join(',')}\\}`),
  fc
    .tuple(fc.constantFrom('(', '['), formula, formula, fc.constantFrom(')', ']'))
    .map(([l, a, b, r]) => `${l}${a},${b}${r}`),
  fc.tuple(formula, formula).map(([a, b]) => `\\begin{pmatrix}${a}\\\\${b}\\end{pmatrix}`),
  fc.tuple(formula, formula).map(([a, b]) => `[0,${a})\\cup\\{${b}\\}`),
  formula.map((a) => `${a}\\text{ cm}`),
  fc.constantFrom(
    '\\text{east}',
    'East',
    'yes',
    '5:30',
    '5:30 pm',
    '7:32',
    '204_5',
    '204_7',
    '\\mathbb{R}',
    '\\emptyset',
  ),
);

/** Answers with relations. */
export const relation: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(name, fc.constantFrom('=', '<', '>', '\\le', '\\ne', '\\in', '\\approx'), structure)
    .map((parts) => parts.join(' ')),
  fc.tuple(formula, fc.constantFrom('=', '<'), formula).map((parts) => parts.join('')),
  fc.tuple(number, name, number).map(([a, x, b]) => `${a}<${x}<${b}`),
  fc.tuple(number, number).map(([a, b]) => `x=${a}, y=${b}`),
);

const token = fc.constantFrom(
  ...(
    '1 2 12 0.5 x n a e i + - * / ^ _ ( ) [ ] { } \\{ \\} , = < \\le \\in \\frac \\sqrt \\sin \\log ! % | \\pm \\infty \\cup ' +
    '\\text{ cm word \\begin{pmatrix} \\end{pmatrix} & \\\\ \\sum_{k=1}^{ \\binom ^\\circ : and or . f( \\mathbb{R} \\boxed{ \\to ' +
    "\\int_0^1 dx \\lim_{x\\to0} ½ ² \\overline{ ' \\pmod \\left( \\right) 5:30 \\langle \\quad … \\' $ ~"
  ).split(' '),
);

/** Tokens in any order: mostly unreadable. */
export const tokens: fc.Arbitrary<string> = fc.array(token, { maxLength: 14 }).map((parts) => parts.join(''));

/** Any answer. */
export const answer: fc.Arbitrary<string> = fc.oneof(
  structure,
  relation,
  tokens,
  fc.string({ maxLength: 40 }),
);
