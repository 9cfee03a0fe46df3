#!/usr/bin/env node
// Starts the program: environment that must stand before anything is imported, then dist/cli/main.js.

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 17)) {
  process.stderr.write(
    `error: vf needs Node.js 20.17 or newer and this is ${process.versions.node}\nhelp: https://nodejs.org\n`,
  );
  process.exit(3);
}
// React's development build records a measure for every render: a leak in a run of days.
process.env.NODE_ENV ??= 'production';
// chalk, inside Ink, heeds FORCE_COLOR but not NO_COLOR.
if (process.env.NO_COLOR && process.env.FORCE_COLOR === undefined) process.env.FORCE_COLOR = '0';

const entry = new URL('../dist/cli/main.js', import.meta.url);
const { existsSync } = await import('node:fs');
if (!existsSync(entry)) {
  process.stderr.write(
    'error: vf is not built: dist/ is missing\nhelp: run `npm run build` in the folder of vf-rl\n',
  );
  process.exit(3);
}
const { main } = await import(entry.href);
await main(process.argv.slice(2));
