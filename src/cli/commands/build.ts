/** `vf build`: builds the native addon. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { OptionTable } from '../../config/option.js';
import { resolveTable } from '../../config/resolve.js';
import { VfError } from '../../errors.js';
import { packageRoot } from '../../native/binding.js';
import type { Call, CliCommand } from '../command.js';

const OPTIONS = {
  cuda: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'compile CUDA in (needs nvcc); an addon that has it keeps it, unless VF_CUDA=0',
  },
} as const satisfies OptionTable;

async function runBuild({ flags }: Call): Promise<void> {
  const { cuda } = resolveTable(OPTIONS, { flags, env: process.env });
  const script = path.join(packageRoot, 'scripts', 'build.js');
  if (!existsSync(script)) {
    throw new VfError('VF_NO_SOURCES', `${script} is missing: this copy of vf can't be built`, {
      exitCode: 3,
    });
  }
  const args = [script, '--addon', '--force', ...(cuda ? ['--cuda'] : [])];
  const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: packageRoot });
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status, signal) => resolve(status ?? (signal === 'SIGINT' ? 130 : 1)));
  });
  process.exitCode = code;
}

const build: CliCommand = {
  name: 'build',
  about: 'Builds the native addon from the sources in this package.',
  examples: ['vf build', 'vf build --cuda'],
  options: OPTIONS,
  run: runBuild,
};

export const commands = [build];
