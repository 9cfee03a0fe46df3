/** The house rules that can be read off import lines: DESIGN's table, one door a package, sizes, and what must not appear. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.dirname(import.meta.dirname);

interface Source {
  /** From the repository's root, with slashes. */
  file: string;
  text: string;
}

function sources(folder: string, pattern: RegExp): Source[] {
  const found = readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));
  assert.ok(found.length > 0, `no file of ${folder} matches ${pattern}: the check would check nothing`);
  return found;
}

const typescript = sources('src', /\.tsx?$/);
const native = sources('native', /\.(cpp|h|cu|cuh|inc)$/);

/** Specifiers of static and dynamic imports and of exports-from. */
function imports(text: string): string[] {
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)(['"])([^'"\s]+)\1/gm)].map(
    (match) => match[2]!,
  );
}

/** Room of a source file: `ui/ink` apart from `ui`; files directly in src by their own name. */
function room(file: string): string {
  const parts = file
    .replace(/^src\//, '')
    .replace(/\.tsx?$/, '')
    .split('/');
  if (parts[0] === 'ui' && parts[1] === 'ink') return 'ui/ink';
  return parts[0]!;
}

/** Which rooms a room may import, besides itself. `*` is anything; cli is nobody's. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  random: [],
  native: ['errors'],
  run: ['errors'],
  text: ['errors'],
  model: ['errors', 'native'],
  data: ['errors', 'text'],
  rollout: ['errors', 'text', 'data', 'native'],
  verify: ['errors', 'text', 'data', 'rollout', 'native'],
  objective: ['errors', 'text', 'data', 'rollout', 'verify', 'native', 'run'],
  recipe: ['errors', 'text', 'data', 'model', 'native'],
  dist: ['errors', 'native', 'run'],
  train: ['errors', 'data', 'rollout', 'objective', 'native', 'model', 'run', 'dist'],
  eval: ['errors', 'text', 'data', 'rollout', 'native', 'run'],
  ui: ['errors', 'run', 'ui/ink'],
  'ui/ink': ['errors', 'run', 'ui'],
  config: ['errors'],
  index: ['*'],
  cli: ['*'],
};

function target(file: string, specifier: string): string {
  return room(path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts'));
}

test('folders import only what the design lets them', () => {
  const wrong: string[] = [];
  for (const { file, text } of typescript) {
    const from = room(file);
    const allowed = MAY_IMPORT[from];
    if (allowed === undefined) {
      wrong.push(`${file}: the folder ${from} has no row in the table`);
      continue;
    }
    for (const specifier of imports(text).filter((name) => name.startsWith('.'))) {
      const to = target(file, specifier);
      const fits =
        to === from ||
        to === 'random' ||
        (allowed.includes('*') ? to !== 'cli' || from === 'cli' : allowed.includes(to));
      if (!fits) wrong.push(`${file} imports ${specifier} (${from} → ${to})`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('index imports neither the command line nor Ink', () => {
  const files = typescript.filter(({ file }) => file === 'src/index.ts');
  for (const { file, text } of files) {
    const rooms = imports(text)
      .filter((name) => name.startsWith('.'))
      .map((name) => target(file, name));
    assert.ok(!rooms.includes('cli') && !rooms.includes('ui/ink'));
  }
});

/** Outside packages and the only places that may import them. */
const DOORS: readonly { what: RegExp; where: RegExp }[] = [
  { what: /^commander$/, where: /^src\/cli\// },
  { what: /^(ink|react|react\/.*)$/, where: /^src\/ui\/ink\// },
  { what: /^tokenizers$/, where: /^src\/text\/tokenizer\.ts$/ },
  {
    what: /^(node:)?child_process$/,
    where: /^src\/(verify\/sandbox[\w-]*|dist\/launch|cli\/(commands\/build|bench-peer))\.ts$/,
  },
  {
    what: /^(node:)?(http|https|http2|net|tls|dgram|dns)(\/.*)?$/,
    where: /^src\/(model\/hub|dist\/\w+)\.ts$/,
  },
  { what: /^@huggingface\/hub$/, where: /^src\/model\/hub\.ts$/ },
  { what: /^@huggingface\/jinja$/, where: /^src\/text\// },
  { what: /^hyparquet/, where: /^src\/data\// },
  { what: /^z3-solver$/, where: /^src\/verify\// },
  { what: /^yaml$/, where: /^src\/(config|run)\// },
];

test('every outside package has one door', () => {
  const wrong = typescript.flatMap(({ file, text }) =>
    imports(text)
      .filter((name) => !name.startsWith('.'))
      .filter((name) => {
        const door = DOORS.find(({ what }) => what.test(name));
        return door === undefined ? !name.startsWith('node:') : !door.where.test(file);
      })
      .map((name) => `${file} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('only binding loads the addon, and only the allowed places write files or open the network', () => {
  const rules: { what: RegExp; where: RegExp }[] = [
    {
      what: /\bcreateRequire\b|process\.dlopen/,
      where: /^src\/(native\/binding|verify\/(sandbox|smt)[\w-]*)\.ts$/,
    },
    {
      what: /\b(writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|writeSync|mkdirSync|mkdir|rmSync|renameSync)\(/,
      where: /^src\/(run|model|cli)\/|^src\/verify\/(sandbox|python|verdicts)[\w-]*\.ts$/,
    },
    { what: /\bfetch\(/, where: /^src\/(model\/hub|verify\/\w*openai\w*|data\/\w*openai\w*)\.ts$/ },
    { what: /\bprocess\.exit(Code)?\b/, where: /^src\/cli\// },
    { what: /\bprocess\.argv\b/, where: /^src\/cli\// },
    { what: /\bprocess\.on\(/, where: /^src\/(cli|verify)\// },
    { what: /\bconsole\.\w+\(/, where: /^$/ },
    { what: /\bMath\.random\b/, where: /^$/ },
    { what: /\b(eval|new Function)\(/, where: /^$/ },
  ];
  const wrong = typescript.flatMap(({ file, text }) =>
    rules
      .filter(({ what, where }) => what.test(code(text)) && !where.test(file))
      .map(({ what }) => `${file}: ${what}`),
  );
  assert.deepEqual(wrong, []);
});

/** The text without comments and strings, roughly: enough for searches of whole words. */
function code(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
}

/** The only CUDA source that may ask whether it runs under the shim. */
const WRAPPERS = 'native/cuda/instructions.cuh';

test('only the header of instruction wrappers knows the CPU shim', () => {
  const cuda = native.filter(({ file }) => file.startsWith('native/cuda/'));
  assert.ok(cuda.length > 1);
  const wrong = cuda.filter(
    ({ file, text }) => file !== WRAPPERS && /VF_CUDA_SHIM|vf_shim|cuda_shim/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ file }) => file),
    [],
  );
});

test('native folders include only what lies below them', () => {
  const layers: Readonly<Record<string, readonly string[]>> = {
    // Buffers and packed batches are made of the contract's own structs.
    core: ['core', 'ops'],
    ops: ['ops', 'core'],
    model: ['model', 'ops', 'core'],
    cpu: ['cpu', 'ops', 'core'],
    cuda: ['cuda', 'ops', 'core'],
    addon: ['addon', 'model', 'ops', 'core'],
  };
  const wrong: string[] = [];
  for (const { file, text } of native) {
    const from = file.split('/')[1]!;
    const allowed = layers[from];
    if (allowed === undefined) continue;
    for (const match of text.matchAll(/^\s*#include\s+"([^"]+)"/gm)) {
      const parts = match[1]!.replace(/^(\.\.\/)+/, '').split('/');
      const to = parts.length > 1 ? parts[0]! : from;
      // The one header of instruction wrappers may take its other side from the CPU shim.
      const shim = file === WRAPPERS && match[1] === '../test/cuda_shim.h';
      const factory = file === 'native/addon/addon.cpp' && /^(cpu|cuda)\/backend\.h$/.test(parts.join('/'));
      if (!allowed.includes(to) && !factory && !shim) wrong.push(`${file} includes ${match[1]}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('only the addon folder knows Node, and nothing in native exits, aborts or prints', () => {
  const wrong: string[] = [];
  for (const { file, text } of native) {
    const part = file.split('/')[1]!;
    if (part === 'test' || part === 'bench') continue;
    const bare = code(text);
    if (part !== 'addon' && /#include\s*[<"](napi|node_api|node)\.h/.test(text)) wrong.push(`${file}: Node`);
    if (/\b(exit|abort|_Exit|terminate|printf|puts)\s*\(|std::(cout|cerr)\b/.test(bare))
      wrong.push(`${file}: exits or prints`);
    if (/\bstd::(mt19937|random_device)\b|\brand\s*\(/.test(bare))
      wrong.push(`${file}: other random numbers`);
  }
  assert.deepEqual(wrong, []);
});

const LIMIT = { ts: { warn: 300, fail: 500 }, cpp: { warn: 400, fail: 600 } };

test('no file is longer than 500 lines of TypeScript or 600 of C++', (t) => {
  const tests = sources('test', /\.tsx?$/);
  const long: string[] = [];
  for (const { file, text } of [...typescript, ...tests, ...native]) {
    const lines = text.split('\n').length - 1;
    const { warn, fail } = /\.tsx?$/.test(file) ? LIMIT.ts : LIMIT.cpp;
    if (lines > fail) long.push(`${file}: ${lines} lines`);
    else if (lines > warn) t.diagnostic(`${file} has ${lines} lines`);
  }
  assert.deepEqual(long, []);
});

test('every source file begins with what it is for', () => {
  const wrong = typescript.filter(({ text }) => !text.startsWith('/**')).map(({ file }) => file);
  assert.deepEqual(wrong, []);
});

test('a file of no room, or a rule that matches nothing, is noticed', () => {
  assert.throws(() => sources('src', /\.nothing$/), /would check nothing/);
  assert.deepEqual(
    imports("import a from './a.js';\nexport { b } from '../b.js';\nawait import('./c.js');\nimport 'd';"),
    ['./a.js', '../b.js', './c.js', 'd'],
  );
  for (const { where } of DOORS.filter(({ what }) => /commander|ink|tokenizers|yaml/.test(what.source))) {
    assert.ok(
      typescript.some(({ file }) => where.test(file)),
      `${where} is a door of no file`,
    );
  }
});
