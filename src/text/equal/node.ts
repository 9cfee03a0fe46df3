/** The tree that an answer is read into: expressions and the structures around them. */
import type { Rational } from './rational.js';

/** Functions with one value at given arguments; `log` takes an optional base as its second argument. */
export type Node =
  /** A literal; `digits` as written, without separators. */
  | { readonly t: 'num'; readonly value: Rational; readonly digits: string }
  | { readonly t: 'sym'; readonly name: string }
  | { readonly t: 'const'; readonly name: 'pi' | 'e' | 'i' }
  | { readonly t: 'inf' }
  | { readonly t: 'add' | 'mul'; readonly args: readonly Node[] }
  | { readonly t: 'neg' | 'degrees'; readonly arg: Node }
  | { readonly t: 'div'; readonly left: Node; readonly right: Node }
  | { readonly t: 'pow'; readonly left: Node; readonly right: Node }
  | { readonly t: 'root'; readonly degree: Node; readonly arg: Node }
  /** A known function. */
  | { readonly t: 'call'; readonly name: string; readonly args: readonly Node[] }
  /** An unknown function, such as f(x). */
  | { readonly t: 'apply'; readonly name: string; readonly args: readonly Node[] }
  /** Sum, product, integral or limit over `name`; a limit has only `from`. */
  | {
      readonly t: 'over';
      readonly op: 'sum' | 'prod' | 'int' | 'lim';
      readonly name: string;
      readonly from: Node;
      readonly to: Node;
      readonly body: Node;
    }
  /** ±arg, or ∓arg when `opposite`. */
  | { readonly t: 'sign'; readonly opposite: boolean; readonly arg: Node }
  /** A unit of measure: the factor one. */
  | { readonly t: 'unit'; readonly name: string }
  /** Bare items in any order; `join` tells `1 or 2` from `1, 2`. */
  | { readonly t: 'list'; readonly join: 'comma' | 'and' | 'or'; readonly items: readonly Node[] }
  | { readonly t: 'set'; readonly items: readonly Node[] }
  /** Ordered items between brackets; with two items also an interval. */
  | {
      readonly t: 'tuple';
      readonly open: '(' | '[';
      readonly close: ')' | ']';
      readonly items: readonly Node[];
    }
  | { readonly t: 'matrix'; readonly rows: readonly (readonly Node[])[] }
  | { readonly t: 'relation'; readonly ops: readonly string[]; readonly sides: readonly Node[] }
  | { readonly t: 'union' | 'intersection' | 'without'; readonly left: Node; readonly right: Node }
  /** The numbers of a kind, such as R or Z. */
  | { readonly t: 'domain'; readonly name: string }
  /** {name | condition}. */
  | { readonly t: 'builder'; readonly name: string; readonly condition: Node }
  | { readonly t: 'text'; readonly text: string }
  /** a:b or a:b:c; `clock` when it may also be a time of day, `half` its am or pm. */
  | {
      readonly t: 'ratio';
      readonly parts: readonly Node[];
      readonly clock: string | null;
      readonly half: string;
    }
  /** Digits with a base other than ten as their subscript. */
  | { readonly t: 'numeral'; readonly digits: string; readonly base: string };

/** The parts of a node in order, for walks over a tree. */
export function children(node: Node): readonly Node[] {
  switch (node.t) {
    case 'add':
    case 'mul':
    case 'call':
    case 'apply':
      return node.args;
    case 'neg':
    case 'degrees':
    case 'sign':
      return [node.arg];
    case 'div':
    case 'pow':
    case 'union':
    case 'intersection':
    case 'without':
      return [node.left, node.right];
    case 'root':
      return [node.degree, node.arg];
    case 'over':
      return [node.from, node.to, node.body];
    case 'list':
    case 'set':
    case 'tuple':
      return node.items;
    case 'matrix':
      return node.rows.flat();
    case 'relation':
      return node.sides;
    case 'builder':
      return [node.condition];
    case 'ratio':
      return node.parts;
    default:
      return [];
  }
}

/** The node with every part replaced by what `change` makes of it. */
export function mapParts(node: Node, change: (part: Node) => Node): Node {
  const copy: Record<string, unknown> = { ...node };
  for (const [field, value] of Object.entries(copy)) {
    if (field === 'rows') copy[field] = (value as readonly Node[][]).map((row) => row.map(change));
    else if (Array.isArray(value) && field !== 'ops') copy[field] = value.map(change);
    else if (typeof value === 'object' && value !== null && 't' in value) copy[field] = change(value as Node);
  }
  return copy as unknown as Node;
}

/** Whether the test holds for the node or any part of it. */
export function some(node: Node, test: (node: Node) => boolean): boolean {
  return test(node) || children(node).some((child) => some(child, test));
}

/** Names of the free variables; the index of a sum, product, integral or limit is none. */
export function variables(node: Node, found: Set<string> = new Set()): Set<string> {
  if (node.t === 'sym') found.add(node.name);
  else if (node.t === 'apply') found.add(`${node.name}()`);
  if (node.t === 'over') {
    for (const name of variables(node.body)) if (name !== node.name) found.add(name);
    variables(node.from, found);
    variables(node.to, found);
    return found;
  }
  for (const child of children(node)) variables(child, found);
  return found;
}
