/** Equality beyond equal keys: parts compared one by one, formulas by value, records with tuples. */
import { keyOf, signVariants } from './key.js';
import type { Meaning } from './meaning.js';
import { type Node, variables } from './node.js';
import { agree, isExpression } from './scalar.js';
import { beginWork } from './work.js';

/** Lists longer than this are compared by their keys only. */
const longest = 50;

/** Whether a prediction means what the gold answer means although their keys differ. */
export function same(gold: Meaning, prediction: Meaning): boolean {
  beginWork();
  if (gold.entries !== null && prediction.value !== null) return sameRecord(gold.entries, prediction.value);
  if (prediction.entries !== null && gold.value !== null) return sameRecord(prediction.entries, gold.value);
  return gold.value !== null && prediction.value !== null && sameNode(gold.value, prediction.value);
}

/** Named values and a tuple in the order of the names; values of one name with indices are also a set. */
function sameRecord(entries: ReadonlyMap<string, Node>, other: Node): boolean {
  const values = [...entries.values()];
  if ((other.t === 'tuple' || other.t === 'list') && sequences(values, other.items)) return true;
  const stems = new Set([...entries.keys()].map((name) => name.split('_')[0]));
  return stems.size === 1 && (other.t === 'list' || other.t === 'set') && multisets(values, other.items);
}

function sequences(a: readonly Node[], b: readonly Node[]): boolean {
  return a.length === b.length && a.length <= longest && a.every((item, k) => sameNode(item, b[k]!));
}

function sameNode(a: Node, b: Node): boolean {
  const key = keyOf(a);
  if (key === null || keyOf(b) === null) return false;
  if (key === keyOf(b)) return true;
  if (a.t === 'ratio' || b.t === 'ratio') return ratios(a, b);
  const [left, right] = [elements(a), elements(b)];
  if (left !== null && right !== null) return multisets(left, right);
  if (a.t === 'tuple' && b.t === 'tuple')
    return a.open === b.open && a.close === b.close && sequences(a.items, b.items);
  if (a.t === 'tuple' && b.t === 'list') return bare(a) && sequences(a.items, b.items);
  if (a.t === 'list' && b.t === 'tuple') return bare(b) && sequences(a.items, b.items);
  const [p, q] = [letters(a), letters(b)];
  if (p !== null && q !== null) return p === q;
  const [m, n] = [rows(a), rows(b)];
  if (m !== null && n !== null) return m.length === n.length && m.every((row, k) => sequences(row, n[k]!));
  return formulas(a, b);
}

/** Items of a list or set, with every ± written out. */
function elements(node: Node): readonly Node[] | null {
  if (node.t === 'list' || node.t === 'set')
    return node.items.flatMap((item) => signVariants(item) ?? [item]);
  return signVariants(node);
}

/** Round brackets, or square ones around more than two items, may be left out. */
function bare(node: Node & { t: 'tuple' }): boolean {
  return (
    (node.open === '(' && node.close === ')') ||
    (node.items.length > 2 && node.open === '[' && node.close === ']')
  );
}

/** Every element has an equal one on the other side. */
function multisets(a: readonly Node[], b: readonly Node[]): boolean {
  if (a.length > longest || b.length > longest) return false;
  const covers = (some: readonly Node[], all: readonly Node[]) =>
    some.every((x) => all.some((y) => sameNode(x, y)));
  return covers(a, b) && covers(b, a);
}

/** Rows of a matrix, or of lists in square brackets. */
function rows(node: Node): readonly (readonly Node[])[] | null {
  if (node.t === 'matrix') return node.rows;
  if (node.t !== 'tuple' || node.open !== '[' || node.close !== ']') return null;
  const inner = node.items.map((item) => (item.t === 'tuple' && item.open === '[' ? item.items : null));
  return inner.includes(null) ? null : (inner as (readonly Node[])[]);
}

/** Ratios that may be times of day: 7:32 is 7/32, and 5:30 is 5:30 p.m. */
function ratios(a: Node, b: Node): boolean {
  if (a.t === 'ratio' && b.t === 'ratio') {
    return a.clock !== null && a.clock === b.clock && (a.half === '' || b.half === '' || a.half === b.half);
  }
  const [ratio, other] = a.t === 'ratio' ? [a, b] : [b, a];
  if (ratio.t !== 'ratio' || ratio.parts.length !== 2 || ratio.half !== '' || other.t !== 'div') return false;
  return keyOf({ t: 'div', left: ratio.parts[0]!, right: ratio.parts[1]! }) === keyOf(other);
}

/** The letters of a word, or of a product of letters that may be one. */
function letters(node: Node): string | null {
  if (node.t === 'text') return node.text;
  const factors = node.t === 'mul' ? node.args : [];
  const names = factors.map((factor) => (factor.t === 'sym' || factor.t === 'const' ? factor.name : ''));
  return names.length > 1 && names.every((name) => name.length === 1) ? names.join('') : null;
}

/** Formulas in the same variables, where at least one is no rational expression. */
function formulas(a: Node, b: Node): boolean {
  if (!isExpression(a) || !isExpression(b)) return false;
  if (keyOf(a)!.startsWith('poly:') && keyOf(b)!.startsWith('poly:')) return false;
  if (variables(a).size === 0 && variables(b).size === 0) return false;
  return agree(a, b);
}
