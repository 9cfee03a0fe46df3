// Formats native/ with clang-format (.clang-format); `--check` only reports. Skipped with a word where it is not installed.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const wanted = new Set(['.cpp', '.h', '.inc', '.cu', '.cuh']);
const files = readdirSync(join(root, 'native'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && wanted.has(extname(entry.name)))
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
const check = process.argv.includes('--check');
if (spawnSync('clang-format', ['--version'], { stdio: 'ignore' }).status !== 0) {
  console.error('clang-format is not installed: native/ was not checked (apt-get install clang-format)');
} else {
  const args = check ? ['--dry-run', '-Werror', ...files] : ['-i', ...files];
  process.exitCode = spawnSync('clang-format', args, { stdio: 'inherit' }).status ?? 1;
}
