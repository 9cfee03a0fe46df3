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
      return node.name === 'abs' ? labelled(node.args[0]!) : null;
    case 'mul':
      return upperCase(node);
    case 'ratio':
      return joined(node.parts, ':');
    case 'tuple':
      return joined(node.items, ',');
    default:
      return null;
  }
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
