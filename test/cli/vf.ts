/** Starts the command line from source, in a process of its own, for tests. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const root = path.dirname(path.dirname(import.meta.dirname));

export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Options {
  env?: Record<string, string>;
  cwd?: string;
  /** The program to run instead of the command line. */
  script?: string;
}

/** The environment of a user without settings of ours. */
function cleanEnvironment(): Record<string, string | undefined> {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(VF_|CI$|NO_COLOR|FORCE_COLOR|NODE_TEST)/.test(name),
  );
  return Object.fromEntries(entries);
}

/** Starts `vf` with these words. */
export function start(words: readonly string[], options: Options = {}) {
  const script = options.script ?? path.join(root, 'test', 'cli', 'entry.ts');
  const loader = new URL(import.meta.resolve('tsx')).href;
  return spawn(process.execPath, ['--import', loader, script, ...words], {
    cwd: options.cwd ?? root,
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts the built program, bin/vf.js, as a user does. */
export function startBuilt(words: readonly string[], options: Options = {}) {
  return spawn(process.execPath, [path.join(root, 'bin', 'vf.js'), ...words], {
    cwd: options.cwd ?? root,
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs `vf` with these words to its end. */
export async function vf(words: readonly string[], options: Options = {}): Promise<Outcome> {
  return outcome(start(words, options));
}

/** Waits for a started process. */
export async function outcome(child: ReturnType<typeof start>): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}
