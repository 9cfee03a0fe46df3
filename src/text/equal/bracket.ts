/** Reads what stands between brackets: groups, tuples, intervals, sets, absolute values, floors. */
import { type Cursor, deeper, expect, isSign, peek, take } from './cursor.js';
import { unreadable } from './lexer.js';
import type { Node } from './node.js';

/** The bracket that opens at the cursor. */
export function bracket(c: Cursor): Node {
  const open = peek(c)!.text;
  if (open === '\\{') return deeper(c, braces);
  if (open === '{') return deeper(c, group);
  if (open === '(' || open === '[') return deeper(c, tuple);
  if (open === '|') return bars(c);
  if (open === '⟨') return angles(c);
  if (open === '⌊' || open === '⌈') return rounding(c);
  throw unreadable;
}

function group(c: Cursor): Node {
  c.at++;
  if (take(c, '}')) return c.grammar.power(c);
  let inner = c.grammar.list(c);
  const choose = peek(c);
  if (choose?.kind === 'command' && choose.text === 'choose') {
    c.at++;
    inner = { t: 'call', name: 'binom', args: [inner, c.grammar.list(c)] };
  }
  expect(c, '}');
  return inner.t === 'list' && inner.join === 'comma' ? { t: 'set', items: inner.items } : inner;
}

function tuple(c: Cursor): Node {
  const open = peek(c)!.text as '(' | '[';
  c.at++;
  let inner = c.grammar.list(c);
  const next = peek(c);
  if (next?.kind === 'command' && next.text === 'choose') {
    c.at++;
    inner = { t: 'call', name: 'binom', args: [inner, c.grammar.list(c)] };
  }
  const close = take(c, ')') ? ')' : ']';
  if (close === ']') expect(c, ']');
  if (inner.t === 'list' && inner.join === 'comma') return { t: 'tuple', open, close, items: inner.items };
  if ((open === '(') !== (close === ')')) throw unreadable;
  return inner;
}

function braces(c: Cursor): Node {
  c.at++;
  if (take(c, '\\}')) return { t: 'set', items: [] };
  const built = builder(c);
  if (built !== null) return built;
  const opensSystem = peek(c)?.kind === 'command' && peek(c)!.text === 'begin';
  const inner = c.grammar.list(c);
  if (opensSystem && inner.t === 'list' && !isSign(c, '\\}')) return inner;
  expect(c, '\\}');
  return { t: 'set', items: inner.t === 'list' ? inner.items : [inner] };
}

/** `\{x \mid x > 1\}` and its spellings; null when the braces hold items. */
function builder(c: Cursor): Node | null {
  const name = peek(c);
  if (name?.kind !== 'name') return null;
  let ahead = 1;
  if (peek(c, 1)?.text === 'in' && peek(c, 2)?.kind === 'domain') ahead = 3;
  const bar = peek(c, ahead);
  const isBar =
    bar !== undefined &&
    (bar.text === 'mid' || (bar.kind === 'sign' && (bar.text === '|' || bar.text === ':')));
  if (!isBar) return null;
  c.at += ahead + 1;
  const condition = c.grammar.list(c);
  expect(c, '\\}');
  return { t: 'builder', name: name.text, condition };
}

/** |x|, and ||v||, which has the same value. */
function bars(c: Cursor): Node {
  c.at++;
  const inner = deeper(c, (at) => {
    at.bars = 1;
    return at.grammar.sum(at);
  });
  expect(c, '|');
  return { t: 'call', name: inner.t === 'matrix' ? 'det' : 'abs', args: [inner] };
}

function angles(c: Cursor): Node {
  c.at++;
  const inner = deeper(c, c.grammar.list);
  expect(c, '⟩');
  return inner.t === 'list' ? { t: 'tuple', open: '(', close: ')', items: inner.items } : inner;
}

function rounding(c: Cursor): Node {
  const floor = isSign(c, '⌊');
  c.at++;
  const inner = deeper(c, c.grammar.sum);
  expect(c, floor ? '⌋' : '⌉');
  return { t: 'call', name: floor ? 'floor' : 'ceil', args: [inner] };
}
