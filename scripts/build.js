// Builds what a clone needs: the native addon (cmake-js, or node-gyp where there is no CMake) and dist/ (tsc).
// `node scripts/build.js` builds what is older than its sources; `--force` all; `--addon` or `--dist` one of them. CUDA:
// `--cuda` or VF_CUDA=1 compiles it in, VF_CUDA=0 leaves it out; else an addon that has it keeps it.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);

function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const addonFile = join(root, 'build', 'Release', 'vf.node');
const addonSources = ['addon', 'core', 'cpu', 'cuda', 'model', 'ops', 'sources.txt'].map((name) =>
  join('native', name),
);
const newestAddonSource = () =>
  Math.max(...[...addonSources, 'CMakeLists.txt', 'binding.gyp'].map((name) => newest(join(root, name))));

/** Whether the addon is there and newer than every source of it. */
export function addonIsFresh() {
  return existsSync(addonFile) && statSync(addonFile).mtimeMs > newestAddonSource();
}

function distIsFresh() {
  return (
    newest(join(root, 'dist', 'cli')) >
    Math.max(newest(join(root, 'src')), newest(join(root, 'tsconfig.build.json')))
  );
}

function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Whether the build folder is set up for CUDA; undefined where CMake hasn't set one up. */
function setUpForCuda() {
  const cache = join(root, 'build', 'CMakeCache.txt');
  return existsSync(cache) ? /^VF_CUDA:BOOL=ON$/m.test(readFileSync(cache, 'utf8')) : undefined;
}

/** Whether the addon that is there was built with CUDA. */
export function builtWithCuda() {
  return existsSync(addonFile) && setUpForCuda() === true;
}

/** What VF_CUDA asks for: true, false, or undefined for the addon as it is. */
export function cudaFromEnvironment() {
  const value = process.env.VF_CUDA;
  return value === '1' ? true : value === '0' ? false : undefined;
}

/** What is missing for a build of the addon, each with what to do. */
export function missingTools({ cuda = false } = {}) {
  const missing = [];
  if (cuda && !has(process.env.CUDACXX ?? 'nvcc')) {
    missing.push(
      'no nvcc: install the CUDA toolkit (12.4 or newer) and put its bin folder on PATH, set CUDACXX, or leave CUDA out with VF_CUDA=0',
    );
  }
  if (cuda && !has('cmake')) {
    missing.push('CUDA is built by CMake: `apt-get install cmake`');
  }
  const compiler = process.env.CXX ?? ['c++', 'g++', 'clang++'].find(has);
  if (!compiler || !has(compiler)) {
    missing.push(
      'no C++17 compiler: `apt-get install g++` (Debian, Ubuntu), `xcode-select --install` (macOS), or set CXX',
    );
  }
  if (!has('cmake') && !nodeGyp()) {
    missing.push(
      'no CMake: `apt-get install cmake` or `brew install cmake`; npm brings node-gyp as a second way (run through npm)',
    );
  }
  return missing;
}

function nodeGyp() {
  const path = process.env.npm_config_node_gyp;
  return path && existsSync(path) ? path : undefined;
}

/** Compiles the addon; throws an Error whose message lists numbered remedies. `cuda` compiles the CUDA backend in. */
export function buildAddon({ cuda = false, log = 'inherit' } = {}) {
  const missing = missingTools({ cuda });
  const remedies = [
    ...missing,
    'build again and read the compiler: `npm run build -- --addon`',
    'go without the engine (help, data and config commands work): `VF_SKIP_BUILD=1 npm install`',
  ];
  const numbered = remedies.map((text, i) => `  ${i + 1}. ${text}`).join('\n');
  if (missing.length > 0) throw new Error(`the native addon can't be built here\n${numbered}`);
  const jobs = String(Math.max(1, cpus().length));
  const run = (file, args) => spawnSync(file, args, { cwd: root, stdio: ['ignore', log, log] });
  const cmake = (...words) => [cmakeJs(), ...words, `--CDVF_CUDA=${cuda ? 'ON' : 'OFF'}`];
  if (cuda) console.error('compiling the kernels for the GPU where they changed: up to 4 minutes on 2 cores');
  const withCmake = has('cmake');
  // cmake-js sets up a build folder once: another choice of CUDA needs CMake's word before it compiles.
  const setUp = withCmake ? setUpForCuda() : undefined;
  if (setUp !== undefined && setUp !== cuda) run(process.execPath, cmake('configure'));
  const args = withCmake ? cmake('compile', '--parallel', jobs) : [nodeGyp(), 'rebuild', `--jobs=${jobs}`];
  const result = run(process.execPath, args);
  if (result.status !== 0 || !existsSync(addonFile)) {
    throw new Error(`the native addon did not compile (${args.slice(1).join(' ')})\n${numbered}`);
  }
  // A build that had nothing to do leaves the file's time: it is as new as its sources now.
  utimesSync(addonFile, new Date(), new Date());
}

function cmakeJs() {
  return join(dirname(require.resolve('cmake-js/package.json')), 'bin', 'cmake-js');
}

function buildDist() {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
    stdio: 'inherit',
    cwd: root,
  });
  chmodSync(join(root, 'bin', 'vf.js'), 0o755);
}

/** `npx vf` in a clone looks here; without the link npm would install (and build) the clone a second time. */
export function linkBinary() {
  const bin = join(root, 'node_modules', '.bin');
  if (!existsSync(join(root, 'node_modules')) || process.platform === 'win32') return;
  mkdirSync(bin, { recursive: true });
  const link = join(bin, 'vf');
  if (lstatSync(link, { throwIfNoEntry: false })) unlinkSync(link);
  symlinkSync(join('..', '..', 'bin', 'vf.js'), link);
}

/** Builds what is stale, and an addon that is there with CUDA and was asked for without it, or the other way round. */
export function build({ force = false, addon = true, dist = true, cuda, log = 'inherit' } = {}) {
  const wanted = cuda ?? builtWithCuda();
  if (addon && (force || !addonIsFresh() || wanted !== builtWithCuda())) buildAddon({ cuda: wanted, log });
  const fromClone = existsSync(join(root, 'tsconfig.build.json'));
  if (dist && fromClone && (force || !distIsFresh())) buildDist();
  linkBinary();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = new Set(process.argv.slice(2));
  const only = flags.has('--addon') || flags.has('--dist');
  try {
    build({
      force: flags.has('--force'),
      addon: !only || flags.has('--addon'),
      dist: !only || flags.has('--dist'),
      cuda: flags.has('--cuda') ? true : cudaFromEnvironment(),
    });
  } catch (error) {
    console.error(`error: ${error.message}`);
    process.exitCode = 3;
  }
}
