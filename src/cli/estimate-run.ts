/** `vf train --estimate`: the memory plan of a run, printed before anything is loaded. */

import { totalmem } from 'node:os';
import { resolveConfig } from '../config/resolve.js';
import { type MemoryNeeds, memoryPlan, whatFits } from '../model/estimate.js';
import { loadModelFolder } from '../model/folder.js';
import { addon } from '../native/binding.js';
import { openTokenizer } from '../text/tokenizer.js';
import { DEFAULT_BATCH, DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import type { Call } from './command.js';
import { chooseDevice, modelFolder } from './open-model.js';
import { writeOut } from './output.js';

/** A GPU that no device here can be asked about: what most plans are made for. */
const USUAL_GPU_BYTES = 80e9;

/** Prints what the run would take, and, where that is more than the device has, by how much and what would fit. */
export async function runEstimate({ flags }: Call): Promise<void> {
  const { settings } = resolveConfig('train', { flags, env: process.env });
  const { spec } = await loadModelFolder(modelFolder(settings.model), openTokenizer);
  const named = settings.device.startsWith('cuda') ? settings.device : chooseDevice(settings.device);
  const device = named === 'cpu' ? 'cpu' : 'cuda';
  const needs: MemoryNeeds = {
    spec,
    device,
    dtype: settings.dtype === 'auto' ? (device === 'cpu' ? 'f32' : 'bf16') : settings.dtype,
    microBatchTokens: settings.microBatchTokens || DEFAULT_MICRO_BATCH,
    maxBatch: settings.maxBatch || DEFAULT_BATCH,
    promptTokens: settings.maxPromptTokens || settings.maxTokens,
    maxTokens: settings.maxTokens,
    recompute: settings.recompute,
    trainable: true,
  };
  const plan = memoryPlan(needs);
  const memory = deviceMemory(named);
  const lines = plan.rows.map(({ name, bytes, during }) => `${gigabytes(bytes)}  ${name} (${during})`);
  const verdict = fitLine(needs, plan.total, memory);
  if (settings.json)
    return writeOut(`${JSON.stringify({ ...plan, device: named, memory: memory.bytes, verdict })}\n`);
  writeOut(`${lines.join('\n')}\n${gigabytes(plan.total)}  at the peak on ${named}\n${verdict}\n`);
}

interface DeviceMemory {
  bytes: number;
  name: string;
}

function deviceMemory(device: string): DeviceMemory {
  if (device === 'cpu') return { bytes: totalmem(), name: 'this machine' };
  const { devices, memory } = addon().cuda;
  const index = Number(device.split(':')[1] ?? 0);
  const bytes = memory[index];
  return bytes === undefined
    ? { bytes: USUAL_GPU_BYTES, name: 'an 80 GB GPU (none is usable here)' }
    : { bytes, name: devices[index]! };
}

function fitLine(needs: MemoryNeeds, total: number, memory: DeviceMemory): string {
  if (total <= memory.bytes) return `fits ${memory.name}`;
  const over = `${gigabytes(total - memory.bytes).trim()} more than ${memory.name} has`;
  const fit = whatFits(needs, memory.bytes);
  if (fit === null) return `${over}; no micro-batch fits one device: take a smaller model`;
  return `${over}; this fits: --micro-batch-tokens ${fit.microBatchTokens}${fit.recompute ? ' --recompute' : ''}`;
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2).padStart(7)} GB`;
}
