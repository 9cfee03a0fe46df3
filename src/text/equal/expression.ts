/** Reads sums, products and powers, with the habits of LaTeX and of plain typing: `2x`, `2\frac34`, `sin 2x`, `x^10`. */

import { bracket } from './bracket.js';
import { command } from './command.js';
import { type Cursor, deeper, expect, isSign, peek, take } from './cursor.js';
import { type Token, unreadable } from './lexer.js';
import type { Node } from './node.js';
import { decorated, functionArgument, literal, symbol, textRun } from './operand.js';
import { add, compare, fromDecimal, one, type Rational, whole, zero } from './rational.js';
import { isProduct, unitEnd } from './unit.js';
import { currencies } from './vocabulary.js';

/** Terms joined by plus, minus and ±. */
export function sum(c: Cursor): Node {
  const terms: Node[] = [];
  for (;;) {
    const mark = peek(c)?.kind === 'sign' ? peek(c)!.text : '';
    if ('+-±∓'.includes(mark) && mark !== '') c.at++;
    else if (terms.length > 0) break;
    const part = term(c);
    terms.push(signed(mark, part));
  }
  return terms.length === 1 ? terms[0]! : { t: 'add', args: terms };
}

function signed(mark: string, arg: Node): Node {
  if (mark === '-') return { t: 'neg', arg };
  return mark === '±' || mark === '∓' ? { t: 'sign', opposite: mark === '∓', arg } : arg;
}

function term(c: Cursor): Node {
  let left = product(c, true);
  for (;;) {
    if (take(c, '*')) left = times(left, product(c, true));
    else if (take(c, '/')) {
      left = { t: 'div', left, right: divisor(c) };
      if (startsFactor(c)) left = times(left, product(c, true));
    } else if (peek(c)?.kind === 'command' && /^b?mod$/.test(peek(c)!.text)) {
      c.at++;
      left = { t: 'call', name: 'mod', args: [left, product(c, true)] };
    } else return left;
  }
}

/** After a slash: a lone number, else everything up to a space (`1/2x` is half of x, `a/bc` has bc below). */
function divisor(c: Cursor): Node {
  return peek(c)?.kind === 'num' ? c.grammar.power(c) : product(c, false);
}

function times(left: Node, right: Node): Node {
  return {
    t: 'mul',
    args: [...(left.t === 'mul' ? left.args : [left]), ...(right.t === 'mul' ? right.args : [right])],
  };
}

/** Factors side by side. */
function product(c: Cursor, acrossGaps: boolean): Node {
  if (isSign(c, '-') || isSign(c, '+')) {
    const negative = isSign(c, '-');
    c.at++;
    const arg = deeper(c, (inner) => product(inner, acrossGaps));
    return negative ? { t: 'neg', arg } : arg;
  }
  const factors = [c.grammar.power(c)];
  for (;;) {
    const end = unitEnd(c);
    if (end !== null) {
      factors.push({
        t: 'unit',
        name: c.tokens
          .slice(c.at, end)
          .map((each) => each.text)
          .join(''),
      });
      c.at = end;
      continue;
    }
    const next = peek(c);
    if (next === undefined || !startsFactor(c) || (!acrossGaps && next.gap)) break;
    const mixed = factors.length === 1 ? mixedNumber(c, factors[0]!) : null;
    if (mixed !== null) factors[0] = mixed;
    else if (next.kind === 'num' && !/^[)}\]|!]$/.test(c.tokens[c.at - 1]?.text ?? '')) throw unreadable;
    else factors.push(c.grammar.power(c));
  }
  return factors.length === 1 ? factors[0]! : { t: 'mul', args: factors };
}

/** Whether the next token begins a factor without a sign of multiplication. */
function startsFactor(c: Cursor): boolean {
  const next = peek(c);
  if (next === undefined) return false;
  if (next.kind === 'sign') {
    if (next.text === '|') return c.bars === 0 && !isSign(c, '|', 1);
    return /^[([{⟨⌊⌈]$/.test(next.text);
  }
  if (next.kind === 'command') return !/^(?:end|choose|pmod|bmod|mod|tag|not)$/.test(next.text);
  return next.kind !== 'join' && next.kind !== 'relation' && next.kind !== 'domain' && next.kind !== 'half';
}

/** `2\frac34` and `2 3/4`: a whole number beside a proper fraction is their sum. */
function mixedNumber(c: Cursor, left: Node): Node | null {
  if (left.t !== 'num' || !/^\d+$/.test(left.digits)) return null;
  const start = c.at;
  const next = peek(c)!;
  let right: Node;
  if (next.kind === 'command' && next.text === 'frac') right = command(c);
  else if (next.kind === 'num' && next.gap && isSign(c, '/', 1) && peek(c, 2)?.kind === 'num') {
    c.at += 3;
    right = { t: 'div', left: literal(next.text), right: literal(c.tokens[c.at - 1]!.text) };
  } else return null;
  const value = right.t === 'div' ? properFraction(right.left, right.right) : null;
  if (value === null) {
    c.at = start;
    return null;
  }
  return marked(c, { t: 'num', value: add(left.value, value) ?? zero, digits: '' });
}

function properFraction(num: Node, den: Node): Rational | null {
  if (num.t !== 'num' || den.t !== 'num' || !/^\d+$/.test(num.digits) || !/^\d+$/.test(den.digits))
    return null;
  if (den.value.num === 0n || compare(num.value, den.value) >= 0) return null;
  return { num: num.value.num, den: den.value.num };
}

/** An operand with the exponents, factorials, percent and degree signs after it. */
export function power(c: Cursor): Node {
  return marked(c, operand(c));
}

function marked(c: Cursor, operand: Node): Node {
  let base = operand;
  for (;;) {
    if (take(c, '!'))
      base = { t: 'call', name: take(c, '!') ? 'doubleFactorial' : 'factorial', args: [base] };
    else if (take(c, '%'))
      base = { t: 'div', left: base, right: { t: 'num', value: whole(100), digits: '100' } };
    else if (take(c, '°')) base = degrees(c, base);
    else if (isSign(c, '_') && (base.t === 'num' || base.t === 'sym')) base = numeral(c, base);
    else if (take(c, '^')) base = raised(c, base);
    else return base;
  }
}

function degrees(c: Cursor, arg: Node): Node {
  const next = peek(c);
  if (next?.kind === 'name' && (next.text === 'C' || next.text === 'F')) c.at++;
  return { t: 'degrees', arg };
}

function raised(c: Cursor, base: Node): Node {
  const group = isSign(c, '{') ? 1 : 0;
  const mark = peek(c, group);
  const isDegree = mark?.text === '°' || (mark?.text === 'o' && mark.kind === 'name');
  if (isDegree && (group === 0 || isSign(c, '}', 2))) {
    c.at += 2 * group + 1;
    return degrees(c, base);
  }
  return { t: 'pow', left: base, right: exponent(c) };
}

/** What stands above: a group, or one signed operand; `2^3^2` is 2^(3^2). */
function exponent(c: Cursor): Node {
  const negative = take(c, '-');
  if (!negative) take(c, '+');
  let above = operand(c);
  if (take(c, '^')) above = { t: 'pow', left: above, right: deeper(c, exponent) };
  return negative ? { t: 'neg', arg: above } : above;
}

/** A number with a base as its index: `204_5`, `(204)_{5}`, `1A_{16}`. */
function numeral(c: Cursor, digits: Node): Node {
  if (digits.t === 'sym') throw unreadable;
  if (digits.t !== 'num' || !/^\d+$/.test(digits.digits)) throw unreadable;
  expect(c, '_');
  const group = take(c, '{');
  take(c, '(');
  const base = peek(c);
  if (base === undefined || (base.kind !== 'num' && base.kind !== 'word' && base.kind !== 'name'))
    throw unreadable;
  c.at++;
  take(c, ')');
  if (group) expect(c, '}');
  return {
    t: 'numeral',
    digits: digits.digits.replace(/^0+(?=.)/, ''),
    base: baseDigits.get(base.text) ?? base.text,
  };
}

const baseDigits: ReadonlyMap<string, string> = new Map(
  Object.entries({
    two: '2',
    three: '3',
    four: '4',
    five: '5',
    six: '6',
    seven: '7',
    eight: '8',
    nine: '9',
    ten: '10',
    twelve: '12',
    sixteen: '16',
  }),
);

function operand(c: Cursor): Node {
  const token = peek(c);
  if (token === undefined) throw unreadable;
  switch (token.kind) {
    case 'num':
      c.at++;
      if (token.text.includes('.') && peek(c)?.text === '…') c.at++;
      return repeating(c, token.text) ?? literal(token.text);
    case 'name':
      return token.roman && peek(c, 1)?.kind === 'word' ? textRun(c) : symbol(c);
    case 'const':
      return constant(c, token.text);
    case 'fn':
      return functionArgument(c);
    case 'word':
      return word(c);
    case 'command':
      return command(c);
    case 'domain':
      c.at++;
      return token.text === 'empty' ? { t: 'set', items: [] } : { t: 'domain', name: token.text };
    case 'sign':
      return bracket(c);
    default:
      throw unreadable;
  }
}

function constant(c: Cursor, text: string): Node {
  if (text === 'inf') {
    c.at++;
    return { t: 'inf' };
  }
  if (decorated(c)) return symbol(c);
  c.at++;
  return { t: 'const', name: text as 'pi' | 'e' | 'i' };
}

/** More words than this that are products of letters are no formula. */
const maxSplit = 100;

/** Letters in a row: their product where they are no English word, else a phrase. */
function word(c: Cursor): Node {
  const token = peek(c)!;
  const next = peek(c, 1);
  const before = c.tokens[c.at - 1];
  if (currencies.has(token.text.toLowerCase()) && amountFollows(c)) return c.grammar.power(c);
  const touches = joins(c, before) || (next?.kind === 'sign' && !next.gap && /^[+*/^-]$/.test(next.text));
  if (token.roman || !(isProduct(token.text) || (touches && token.text.length < 4))) return textRun(c);
  if (++c.split > maxSplit) throw unreadable;
  const letters = Array.from(token.text, (text, index) => ({
    kind: text === 'e' || text === 'i' ? ('const' as const) : ('name' as const),
    text,
    gap: index === 0 && token.gap,
    roman: false,
  }));
  c.tokens.splice(c.at, 1, ...letters);
  return operand(c);
}

/** Steps over a currency before its amount: `USD 20`, `Rs. 20`. */
function amountFollows(c: Cursor): boolean {
  const ahead = isSign(c, '.', 1) ? 2 : 1;
  if (peek(c, ahead)?.kind !== 'num') return false;
  c.at += ahead;
  return true;
}

/** Whether the word at the cursor hangs on an operator or a number before it. */
function joins(c: Cursor, before: Token | undefined): boolean {
  if (before === undefined || peek(c)!.gap) return false;
  if (before.kind === 'num' || (before.kind === 'sign' && /^[+*/^-]$/.test(before.text))) return true;
  return before.text === '{' && /^[\^_]$/.test(c.tokens[c.at - 2]?.text ?? '');
}

/** `0.1\overline{6}`: digits that repeat without end. */
function repeating(c: Cursor, digits: string): Node | null {
  const mark = peek(c);
  if (!digits.includes('.') || mark?.kind !== 'command' || !/^(?:overline|dot|bar)$/.test(mark.text))
    return null;
  const period = isSign(c, '{', 1) ? peek(c, 2) : peek(c, 1);
  if (period?.kind !== 'num' || !/^\d{1,12}$/.test(period.text)) return null;
  c.at += 2;
  if (take(c, period.text) || isSign(c, '}', 1)) c.at += 2;
  const places = digits.length - digits.indexOf('.') - 1;
  const lead = fromDecimal(digits) ?? zero;
  const den = 10n ** BigInt(places) * (10n ** BigInt(period.text.length) - 1n);
  const value = add(lead, { num: BigInt(period.text), den });
  return { t: 'num', value: value ?? one, digits: '' };
}
