/** Runs the tests: `npm test`, or `npm test -- store checkpoint` for the files whose path holds one of the words. */

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);

/** Every test file below test/; test/peer needs packages that are not ours and runs where they are installed. */
function testFiles(words: readonly string[]): string[] {
  const peers = existsSync(path.join(root, 'test', 'peer', 'node_modules'));
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.test\.tsx?$/.test(name) && !name.split(path.sep).includes('node_modules'))
    .filter((name) => peers || !name.startsWith(`peer${path.sep}`))
    .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
    .map((name) => path.join('test', name))
    .sort();
}

const words = process.argv.slice(2);
const files = testFiles(words);
if (files.length === 0) {
  console.error(`error: no test file holds ${words.join(' or ')} in its path`);
  process.exit(2);
}
const args = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=spec', ...files];
const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root });
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
