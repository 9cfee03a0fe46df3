/** Tables for people: columns as wide as their cells, numbers on the right. */

import { oneLine, pad, width } from '../ui/text.js';

/** Lines of a table with a heading; columns whose name starts with `>` are aligned right. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const right = heading.map((title) => title.startsWith('>'));
  const cells = [heading.map((title) => title.replace(/^>/, '')), ...rows].map((row) => row.map(oneLine));
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ''))));
  return cells.map((row) =>
    widths
      .map((columns, i) => pad(row[i] ?? '', columns, right[i] === true ? 'right' : 'left'))
      .join('  ')
      .trimEnd(),
  );
}
