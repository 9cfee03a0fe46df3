/** A node:test reporter that writes the reason of every skipped test, a line each. Plain JavaScript: node loads it before tsx. */
export default async function* skips(source) {
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { skip, name } = event.data;
    if (skip !== undefined && skip !== false)
      yield `${typeof skip === 'string' ? skip : 'no reason'} (${name})\n`;
  }
}
