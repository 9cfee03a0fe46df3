/** Another engine as a child process for `vf bench`: it says what it is, then does one timed piece of work a line. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { VfError } from '../errors.js';
import { packageRoot } from '../native/binding.js';

export interface Peer {
  /** What it said when it was ready: `version`, and what else it measured. */
  ready: Record<string, unknown>;
  /** Sends one line and waits for the answer. @throws VfError VF_PEER when the process ends instead. */
  run(line: string): Promise<Record<string, unknown>>;
  close(): void;
}

/** Python that has torch, as found or as VF_PEER_PYTHON names it. */
const PYTHON_REMEDY =
  'install torch for python3 (Debian: apt install python3-torch libopenblas0-pthread), or name a Python that has it: VF_PEER_PYTHON=/usr/bin/python3';
const LLAMA_REMEDY =
  'npm install --prefix peer node-llama-cpp@3.22.1, then VF_PEER_DIR=$PWD/peer (the folder that holds its node_modules)';

/**
 * What lets torch on a CPU be as fast as it can: freed memory is kept (by default every big tensor is mapped and unmapped anew),
 * and OpenMP's threads sleep between pieces of work (by default they spin beside OpenBLAS's own threads on the same cores).
 * Measured on 2 cores: 1,269 tokens/s as installed, 3,836 so.
 */
const TORCH_TUNING = {
  MALLOC_MMAP_THRESHOLD_: String(2 ** 32),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 33),
  MALLOC_TOP_PAD_: String(2 ** 28),
  OMP_WAIT_POLICY: 'passive',
  OPENBLAS_THREAD_TIMEOUT: '10',
};

/** torch doing the training steps of `idsFile` on the model of `folder`, as installed or with what makes it fastest. */
export function startTorch(folder: string, idsFile: string, threads: number, tuned: boolean): Promise<Peer> {
  const script = path.join(packageRoot, 'native', 'bench', 'torch_train.py');
  const python = process.env.VF_PEER_PYTHON || 'python3';
  const blas = { OPENBLAS_CORETYPE: blasCore() ?? process.env.OPENBLAS_CORETYPE };
  const env = tuned ? { ...process.env, ...TORCH_TUNING, ...blas } : process.env;
  return startPeer('torch', python, [script, folder, idsFile, String(threads)], env, PYTHON_REMEDY);
}

/** node-llama-cpp decoding the prompts of `promptFile` on a GGUF file. */
export function startLlama(
  gguf: string,
  promptFile: string,
  newTokens: number,
  threads: number,
): Promise<Peer> {
  const script = path.join(packageRoot, 'native', 'bench', 'llama_decode.mjs');
  if (!process.env.VF_PEER_DIR) throw failed('llama', 'VF_PEER_DIR is not set', LLAMA_REMEDY);
  const args = [script, gguf, promptFile, String(newTokens), String(threads)];
  return startPeer('llama', process.execPath, args, process.env, LLAMA_REMEDY);
}

/** OpenBLAS 0.3.21 takes its slower AVX2 kernels on CPUs it does not know: the name of the best it has for this one. */
function blasCore(): string | undefined {
  let flags = '';
  try {
    flags = readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return undefined; // not Linux: OpenBLAS chooses
  }
  if (/\bavx512_bf16\b/.test(flags)) return 'Cooperlake';
  return /\bavx512vl\b/.test(flags) ? 'SkylakeX' : undefined;
}

async function startPeer(
  name: string,
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  remedy: string,
): Promise<Peer> {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let talk = '';
  child.stderr.on('data', (data: Buffer) => {
    talk = (talk + data.toString()).slice(-2000);
  });
  const ended = endOf(child, () => failed(name, talk.trim().split('\n').slice(-3).join(' / '), remedy));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const line = await Promise.race([lines.next(), ended]);
    if (line.done) return ended;
    return JSON.parse(line.value) as Record<string, unknown>;
  };
  const close = () => {
    child.kill('SIGKILL');
  };
  process.once('exit', close);
  try {
    const ready = await answer();
    return {
      ready,
      run: (line) => {
        child.stdin.write(`${line}\n`);
        return answer();
      },
      close: () => {
        process.off('exit', close);
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Rejects when the child can't start or has ended. */
function endOf(child: ChildProcess, reason: () => VfError): Promise<never> {
  const ended = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(failed('peer', error.message, PYTHON_REMEDY)));
    child.once('close', () => reject(reason()));
  });
  ended.catch(() => {}); // after the last answer nobody waits for it
  child.stdin?.on('error', () => {}); // a dead child: `ended` tells
  return ended;
}

function failed(name: string, why: string, hint: string): VfError {
  return new VfError('VF_PEER', `Expected ${name} to run beside vf but it ended: ${why}`, {
    exitCode: 3,
    hint,
  });
}
