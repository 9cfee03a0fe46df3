/** What may stand alone on the left of an equals sign: variables, function values, lengths, labels. */
import type { Node } from './node.js';

/** The name a side writes, or null when it is no name. */
export function nameOf(node: Node): string | null {
  switch (node.t) {
    case 'sym':
      return node.name;
    case 'const':
      return node.name === 'pi' ? null : node.name;
    case 'apply':
      return `${node.name}(${node.args.map((arg) => nameOf(arg) ?? shown(arg)).join(',')})`;
    case 'text':
      return node.text.toLowerCase();
    case 'call':
      if (node.name === 'abs') return labelled(node.args[0]!);
      return measured.test(node.name) ? prefixed(node.name, joined(node.args, ',')) : null;
    case 'mul':
      return upperCase(node) ?? angle(node);
    case 'div':
      return prefixed(upperCase(node.left), upperCase(node.right));
    case 'ratio':
      return joined(node.parts, ':');
    case 'tuple':
      return joined(node.items, ',');
    default:
      return null;
  }
}

/** Functions of an unknown whose value is often asked for: `\sin A = 3/5` tells 3/5. */
const measured = /^(?:sin|cos|tan|cot|sec|csc|gcd|lcm|det|max|min|re|im)$/;

function prefixed(head: string | null, name: string | null): string | null {
  return head === null || name === null ? null : `${head} ${name}`;
}

/** The measure of an angle: `m\angle A`. */
function angle(node: Node & { t: 'add' | 'mul' }): string | null {
  const [m, other] = node.args;
  const isMeasure = node.args.length === 2 && m?.t === 'sym' && m.name === 'm' && other?.t === 'sym';
  return isMeasure && other.name.startsWith('angle') ? other.name : null;
}

/** What stands between bars: a length has the name of its segment. */
function labelled(node: Node): string | null {
  if (node.t !== 'sym') return upperCase(node);
  return /^[A-Z]$|^vec|^overline/.test(node.name) ? node.name : null;
}

/** Points in a row, such as AB for a length. */
function upperCase(node: Node): string | null {
  if (node.t !== 'mul' || !node.args.every((arg) => arg.t === 'sym' && /^[A-Z]$/.test(arg.name))) return null;
  return node.args.map((arg) => (arg as { name: string }).name).join('');
}

function joined(parts: readonly Node[], mark: string): string | null {
  const names = parts.map(nameOf);
  return names.every((name) => name !== null) ? names.join(mark) : null;
}

function shown(node: Node): string {
  return node.t === 'num' ? node.digits : node.t;
}
