/** `vf bench`: times one kind of work on random weights, beside another engine if asked, and prints table or record. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import type { CommandSettings } from '../config/schema.js';
import { invalidValue } from '../errors.js';
import { readModelFolder } from '../model/folder.js';
import { initModel } from '../model/init.js';
import { packageRoot } from '../native/binding.js';
import { Policy } from '../native/policy.js';
import { count, fixed } from '../ui/format.js';
import { type BenchModel, type BenchTable, benchDecode, benchStep, benchTrain } from './bench-table.js';
import { benchVocabulary } from './bench-work.js';
import { listenForInterrupt } from './interrupt.js';
import { chooseDevice } from './open-model.js';
import { writeErr, writeOut } from './output.js';
import { packageVersion } from './package.js';
import { table } from './table.js';

export type BenchWork = 'train' | 'decode' | 'rl-step';

const RUN = { train: benchTrain, decode: benchDecode, 'rl-step': benchStep } as const;
const PEERS: Record<BenchWork, readonly string[]> = {
  train: ['torch', 'torch-untuned'],
  decode: ['llama'],
  'rl-step': [],
};

/** Runs the benchmark on a model made for it in a temporary folder, which is gone afterwards. */
export async function runBench(work: BenchWork, settings: CommandSettings<'bench'>): Promise<void> {
  const known = ['none', ...PEERS[work]];
  if (!known.includes(settings.peer))
    throw invalidValue('--peer', `${known.join(' or ')} with vf bench ${work}`, settings.peer);
  const folder = mkdtempSync(path.join(tmpdir(), 'vf-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const interrupt = listenForInterrupt({
    onFirst: () => {
      remove();
      process.exit(interrupt.exitCode ?? 130);
    },
  });
  try {
    const load = loadavg();
    const model = await makeModel(folder, settings);
    const result = await RUN[work](model, settings);
    await model.policy.close();
    print(work, settings, model, result, load);
  } finally {
    remove();
    interrupt.dispose();
  }
}

async function makeModel(folder: string, settings: CommandSettings<'bench'>): Promise<BenchModel> {
  const { shape, seed } = settings;
  writeErr(`making random weights of shape ${shape}\n`);
  const out = path.join(folder, 'model');
  await initModel({ shape, out, seed, dtype: 'f32' });
  const { spec, tensors } = await readModelFolder(out);
  const device = chooseDevice(settings.device);
  const dtype = settings.dtype === 'auto' ? (device === 'cpu' ? 'f32' : 'bf16') : settings.dtype;
  const policy = await Policy.load({
    spec,
    tensors,
    ...benchVocabulary(spec),
    device,
    dtype,
    threads: settings.threads || availableParallelism(),
    isa: '',
    trainable: true,
  });
  return { folder, out, spec, tensors, dtype, policy, info: { ...policy.info } };
}

function print(
  work: BenchWork,
  settings: CommandSettings<'bench'>,
  model: BenchModel,
  result: BenchTable,
  load: number[],
): void {
  const { info } = model;
  const machine = { cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length, load };
  const versions = { vf: packageVersion(), commit: commit(), node: process.version };
  if (settings.json) {
    const { shape, seed, repeats } = settings;
    const { rows, sizes, ...rest } = result;
    const at = { work, shape, seed, repeats, dtype: model.dtype, ...info };
    writeOut(`${JSON.stringify({ ...at, machine, versions, sizes, rows, ...rest })}\n`);
    return;
  }
  const lines = [
    `vf bench ${work} · shape ${settings.shape} (${count(info.parameters / 1e6, 2)} M parameters, ${model.dtype}) · ${info.device} ${info.isa} · ${info.threads} threads`,
    `${machine.cpu} · ${machine.cores} cores · load ${fixed(load[0], 1)} at the start · vf ${versions.vf}${versions.commit === null ? '' : ` (${versions.commit})`} · node ${versions.node}`,
    `${result.about}; median of ${settings.repeats}`,
    '',
    ...table(result.heading, result.cells),
    ...(result.notes.length > 0 ? ['', ...result.notes] : []),
  ];
  writeOut(`${lines.join('\n')}\n`);
}

/** The commit of a working copy, in 9 digits; null for an installed package. */
function commit(): string | null {
  const read = (...parts: string[]) => readFileSync(path.join(packageRoot, '.git', ...parts), 'utf8').trim();
  try {
    const head = read('HEAD');
    const hash = head.startsWith('ref: ') ? read(head.slice(5)) : head;
    return hash.slice(0, 9);
  } catch {
    return null;
  }
}
