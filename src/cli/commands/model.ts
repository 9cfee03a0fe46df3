/** `vf model info | init | export`: looks at model folders, makes random ones, and writes a run's model out. */

import { existsSync, readdirSync } from 'node:fs';
import { type OptionTable, pick } from '../../config/option.js';
import { MODEL_OPTIONS } from '../../config/options/model.js';
import { OUTPUT_OPTIONS, SEED_OPTIONS } from '../../config/options/run.js';
import { resolveTable } from '../../config/resolve.js';
import { VfError } from '../../errors.js';
import { readModelFolder } from '../../model/folder.js';
import { modelHash } from '../../model/hash.js';
import { initModel } from '../../model/init.js';
import { parameterCount } from '../../model/parameters.js';
import { saveModelFolder } from '../../model/save.js';
import { SHAPE_NAMES } from '../../model/shapes.js';
import { megabytes } from '../../run/disk.js';
import { count } from '../../ui/format.js';
import type { Call, CliCommand } from '../command.js';
import { modelFolder, openModel } from '../open-model.js';
import { writeErr, writeOut } from '../output.js';

const INFO = pick(OUTPUT_OPTIONS, 'json');

const OUT = {
  type: 'text',
  default: null,
  transient: true,
  group: 'run',
  placeholder: 'folder',
  help: 'the folder to make',
} as const;

const INIT = {
  shape: {
    type: 'choice',
    choices: SHAPE_NAMES,
    default: 'tiny',
    group: 'model and data',
    help: 'sizes of the model',
  },
  tokenizer: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'path',
    help: 'a model folder whose tokenizer is copied; small shapes take its vocabulary',
  },
  dtype: {
    type: 'choice',
    choices: ['f32', 'bf16'],
    default: 'bf16',
    group: 'model and data',
    help: 'type of the stored weights',
  },
  ...SEED_OPTIONS,
  out: OUT,
  ...INFO,
} as const satisfies OptionTable;

const EXPORT = {
  ...pick(MODEL_OPTIONS, 'threads'),
  dtype: {
    type: 'choice',
    choices: ['bf16', 'f32'],
    default: 'bf16',
    group: 'model and data',
    help: 'type of the stored weights',
  },
  out: OUT,
  ...INFO,
} as const satisfies OptionTable;

function freshFolder(out: string | null): string {
  if (out === null) throw new VfError('VF_USAGE', 'Expected a folder to make', { hint: '--out FOLDER' });
  if (existsSync(out) && readdirSync(out).length > 0) {
    throw new VfError('VF_INVALID_VALUE', `Expected a new or empty folder for --out but ${out} holds files`);
  }
  return out;
}

async function runInfo({ args, flags }: Call): Promise<void> {
  const { json } = resolveTable(INFO, { flags, env: process.env });
  const model = await readModelFolder(modelFolder(args[0]!));
  const parameters = parameterCount(model.spec);
  const types = [...new Set(model.tensors.map(({ dtype }) => dtype))];
  const sha256 = await modelHash(model.folder);
  if (json) {
    const { folder, spec, eosIds, bosId, aliases, notes } = model;
    return writeOut(
      `${JSON.stringify({ folder, spec, parameters, types, eosIds, bosId, aliases, notes, sha256 })}\n`,
    );
  }
  const { family, layers, hidden, heads, kvHeads, headDim, ffn, vocab, tied, maxPositions } = model.spec;
  const rows: [string, string][] = [
    ['folder', model.folder],
    ['family', `${family}, ${count(parameters)} parameters, ${types.join(' and ')}`],
    ['layers', `${layers} of width ${count(hidden)}, feed-forward ${count(ffn)}`],
    ['heads', `${heads} of ${headDim}, ${kvHeads} for keys and values`],
    [
      'words',
      `${count(vocab)} rows, head ${tied ? 'tied to the embedding' : 'of its own'}, ${count(maxPositions)} positions`,
    ],
    ['ends at', model.eosIds.join(', ') || 'no end-of-text id'],
    ['sha256', sha256],
    ...Object.entries(model.aliases).map(([name, same]): [string, string] => ['alias', `${name} is ${same}`]),
    ...model.notes.map((note): [string, string] => ['note', note]),
  ];
  writeOut(rows.map(([label, value]) => `${label.padEnd(8)}${value}\n`).join(''));
}

async function runInit({ flags }: Call): Promise<void> {
  const settings = resolveTable(INIT, { flags, env: process.env });
  const { shape, seed, dtype, tokenizer, json } = settings;
  const out = freshFolder(settings.out);
  const { parameters } = await initModel({
    shape,
    out,
    seed,
    dtype,
    ...(tokenizer === null ? {} : { tokenizer: modelFolder(tokenizer) }),
  });
  if (json) return writeOut(`${JSON.stringify({ out, shape, parameters, seed, dtype })}\n`);
  writeOut(`${out}\n`);
  writeErr(`${count(parameters)} random ${dtype} weights of shape ${shape}, seed ${seed}\n`);
}

async function runExport({ args, flags }: Call): Promise<void> {
  const { dtype, threads, json, out: given } = resolveTable(EXPORT, { flags, env: process.env });
  const out = freshFolder(given);
  const model = await openModel(
    { model: args[0]!, device: 'cpu', dtype: 'f32', threads },
    { trainable: false },
  );
  try {
    await saveModelFolder(model.policy, model.folder.spec, model.folder.folder, out, dtype);
  } finally {
    await model.policy.close();
  }
  const bytes = parameterCount(model.folder.spec) * (dtype === 'f32' ? 4 : 2);
  if (json) return writeOut(`${JSON.stringify({ out, from: model.folder.folder, dtype, bytes })}\n`);
  writeOut(`${out}\n`);
  writeErr(`${dtype} weights, ${megabytes(bytes)}, from ${model.folder.folder}\n`);
}

const MODEL = {
  name: 'MODEL',
  help: 'a run, a checkpoint or a Hugging Face folder; bundled for the tiny model',
};

export const commands: readonly CliCommand[] = [
  {
    name: 'model info',
    about: 'Family, sizes, types and hash of a model; reads no weights into memory.',
    arguments: [MODEL],
    examples: ['vf model info bundled', 'vf model info PATH --json'],
    options: INFO,
    run: runInfo,
  },
  {
    name: 'model init',
    about: 'Makes a model folder with random weights.',
    examples: [
      'vf model init --shape qwen3-0.6b --out models/random',
      'vf model init --tokenizer PATH --out models/small',
    ],
    options: INIT,
    run: runInit,
  },
  {
    name: 'model export',
    about: "Writes a model as a Hugging Face folder in another type: a run's latest checkpoint as bf16, say.",
    arguments: [MODEL],
    examples: [
      'vf model export runs/train-1201-2146-7f3a --out models/mine',
      'vf model export PATH --dtype f32 --out models/f32',
    ],
    options: EXPORT,
    run: runExport,
  },
];
