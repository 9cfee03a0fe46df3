/** Runs the tests: `npm test`, or `npm test -- store checkpoint` for the files whose path holds one of the words. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);

/** Every test file below test/. */
function testFiles(words: readonly string[]): string[] {
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.test\.tsx?$/.test(name) && !name.split(path.sep).includes('node_modules'))
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
// The end-to-end tests run the built program: what is older than its sources is built first.
const built = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.js')], { stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);
const folder = mkdtempSync(path.join(tmpdir(), 'vf-test-'));
const skipped = path.join(folder, 'skips');
const reporters = [
  ['--test-reporter=spec', '--test-reporter-destination=stdout'],
  ['--test-reporter=./test/skips.mjs', `--test-reporter-destination=${skipped}`],
];
const args = ['--import', 'tsx', '--test', '--test-concurrency=2', ...reporters.flat(), ...files];
const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root });
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  const reasons = readFileSync(skipped, 'utf8').split('\n').filter(Boolean);
  rmSync(folder, { recursive: true, force: true });
  for (const reason of reasons) console.error(`skipped: ${reason}`);
  // Under .ci/run everything is installed, so that only a missing GPU may skip a test.
  const wrong = reasons.filter((reason) => !reason.startsWith('no GPU'));
  if (process.env.VF_CI === '1' && wrong.length > 0) {
    console.error(`error: ${wrong.length} tests were skipped for another reason than "no GPU"`);
    process.exitCode ||= 1;
  }
});
