/** Opens the model that `--model` names: folder, tokenizer, template and policy. */

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { VfError } from '../errors.js';
import { type LoadedFolder, loadModelFolder } from '../model/folder.js';
import { addon, packageRoot } from '../native/binding.js';
import { Policy } from '../native/policy.js';
import type { TensorSource } from '../native/types.js';
import { resolveModelPath } from '../run/folder.js';
import { resolveTemplate, type Template } from '../text/template.js';
import { openTokenizer, type Tokenizer } from '../text/tokenizer.js';

export interface ModelChoice {
  /** A path, or `bundled`. */
  model: string;
  /** `auto`, `cpu`, `cuda`, `cuda:1`. */
  device: string;
  dtype: 'auto' | 'f32' | 'bf16';
  /** 0: every core. */
  threads: number;
  /** --template and --border. */
  template?: string | null | undefined;
  border?: string | null | undefined;
}

export interface OpenModel {
  folder: LoadedFolder<Tokenizer>;
  tokenizer: Tokenizer;
  template: Template;
  policy: Policy;
  device: string;
  dtype: 'f32' | 'bf16';
  threads: number;
}

/** Folder of a bundled model. */
export function bundledModel(name: 'tiny' | 'tiny-t3rl'): string {
  return join(packageRoot, 'assets', name);
}

/** The Hugging Face folder that `--model` means: `bundled`, a run, a checkpoint, or itself. */
export function modelFolder(given: string, bundled: 'tiny' | 'tiny-t3rl' = 'tiny'): string {
  return resolveModelPath(given === 'bundled' ? bundledModel(bundled) : given).folder;
}

/** `auto` resolved: a usable GPU of this build, else the CPU. */
export function chooseDevice(device: string): string {
  if (device === 'cpu') return device;
  const { cuda } = addon();
  if (device === 'cuda-sim' && cuda.simulated) return device;
  if (device === 'auto') return cuda.devices.length > 0 ? 'cuda:0' : 'cpu';
  const wanted = device === 'cuda' ? 'cuda:0' : device;
  if (!wanted.startsWith('cuda:')) {
    throw new VfError(
      'VF_NO_DEVICE',
      `Expected cpu, cuda or cuda:N for --device but received ${JSON.stringify(device)}`,
    );
  }
  if (cuda.devices.length === 0) {
    throw new VfError(
      'VF_NO_DEVICE',
      `Expected a usable GPU for --device ${device} but found none: ${cuda.reason}`,
      {
        exitCode: 3,
        hint: cuda.compiled ? '`vf doctor` shows driver and devices' : 'build with CUDA: `vf build --cuda`',
      },
    );
  }
  return wanted;
}

/** Loads a model. @param state moments (and masters) of a checkpoint to continue from. */
export async function openModel(
  choice: ModelChoice,
  options: { trainable: boolean; bundled?: 'tiny' | 'tiny-t3rl'; state?: TensorSource[] },
): Promise<OpenModel> {
  const folder = await loadModelFolder(modelFolder(choice.model, options.bundled), openTokenizer);
  const template = await resolveTemplate(folder.tokenizer, {
    name: choice.template ?? undefined,
    stated: folder.vf,
    border: choice.border ?? undefined,
  });
  const device = chooseDevice(choice.device);
  const dtype = choice.dtype === 'auto' ? (device === 'cpu' ? 'f32' : 'bf16') : choice.dtype;
  const threads = choice.threads === 0 ? availableParallelism() : choice.threads;
  const state = options.state ?? [];
  const masters = new Set(state.filter((tensor) => tensor.kind === 'weight').map((tensor) => tensor.name));
  const policy = await Policy.load({
    spec: folder.spec,
    tensors: [...folder.tensors.filter((tensor) => !masters.has(tensor.name)), ...state],
    device,
    dtype,
    threads,
    isa: '',
    tokenBytes: folder.tokenBytes,
    tokenOffsets: folder.tokenOffsets,
    usableVocab: folder.usableVocab,
    trainable: options.trainable,
  });
  return { folder, tokenizer: folder.tokenizer, template, policy, device, dtype, threads };
}

/** One line about where the work happens: `cpu avx512 · 2 threads`, `cuda:0 · own mma.sync products`. */
export function deviceLine(model: OpenModel): string {
  const { isa, threads, products } = model.policy.info;
  return model.device === 'cpu' ? `cpu ${isa} · ${threads} threads` : `${model.device} · ${products}`;
}
