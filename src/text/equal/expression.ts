/** Reads sums, products and powers, with the habits of LaTeX and of plain typing: `2x`, `2\frac34`, `sin 2x`, `x^10`. */

import { bracket } from './bracket.js';
import { command } from './command.js';
import { type Cursor, deeper, expect, isSign, peek, take } from './cursor.js';
import { unreadable } from './lexer.js';
import { type Node, some } from './node.js';
import { decorated, functionArgument, literal, symbol, textRun } from './operand.js';
import { add, compare, fromDecimal, one, type Rational, whole, zero } from './rational.js';
import { unitEnd } from './unit.js';
import { magnitudes } from './vocabulary.js';
import { isPhrase, ordinal, word } from './word.js';

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
  return terms.length === 1 ? terms[0]! : (range(c, terms) ?? { t: 'add', args: terms });
}

/** `15-16 months`: two numbers in rising order that are a whole item are a range, not a difference. */
function range(c: Cursor, [low, high]: readonly Node[]): Node | null {
  const next = peek(c);
  if (next !== undefined && next.kind !== 'join' && next.text !== ',') return null;
  if (low?.t !== 'num' || high?.t !== 'neg') return null;
  const top = high.arg.t === 'mul' && high.arg.args[1]?.t === 'unit' ? high.arg.args[0]! : high.arg;
  if (top.t !== 'num' || low.digits === '' || top.digits === '' || compare(low.value, top.value) >= 0)
    return null;
  return { t: 'text', text: `${low.digits} to ${top.digits}` };
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
  const factors: Node[] = [c.grammar.power(c)];
  if (factors[0]!.t === 'text') return factors[0]!;
  for (;;) {
    const magnitude = peek(c)?.kind === 'word' ? magnitudes.get(peek(c)!.text.toLowerCase()) : undefined;
    if (magnitude !== undefined && factors.some(isCount)) {
      factors.push({ t: 'num', value: whole(magnitude), digits: '' });
      c.at++;
      continue;
    }
    const end = unitEnd(c, factors.some(isCount));
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
    const mixed: Node | null = factors.length === 1 ? mixedNumber(c, factors[0]!) : null;
    if (mixed !== null) factors[0] = mixed;
    else if (next.kind === 'num' && !/^[)}\]|!]$/.test(c.tokens[c.at - 1]?.text ?? '')) throw unreadable;
    else factors.push(c.grammar.power(c));
  }
  return factors.length === 1 ? factors[0]! : { t: 'mul', args: factors };
}

/** Whether a factor is or holds a number. */
function isCount(node: Node): boolean {
  return some(node, (part) => part.t === 'num' || part.t === 'const' || part.t === 'unit');
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
      ordinal(c);
      return repeating(c, token.text) ?? literal(token.text);
    case 'name':
      return isPhrase(c) ? textRun(c) : symbol(c);
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
