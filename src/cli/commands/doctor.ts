/** `vf doctor`: what this machine can do, and what to type where something is missing. */

import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { pick } from '../../config/option.js';
import { OUTPUT_OPTIONS } from '../../config/options/run.js';
import { resolveTable } from '../../config/resolve.js';
import { VfError } from '../../errors.js';
import { addon } from '../../native/binding.js';
import { freeBytes, megabytes } from '../../run/disk.js';
import type { Call, CliCommand } from '../command.js';
import { writeOut } from '../output.js';
import { packageVersion } from '../package.js';

const OPTIONS = pick(OUTPUT_OPTIONS, 'json');

interface Check {
  name: string;
  /** `missing` is needed for some command; `absent` is an extra. */
  state: 'ok' | 'absent' | 'missing';
  detail: string;
  /** What to do about it. */
  remedy?: string;
  facts?: Record<string, unknown>;
}

async function runDoctor({ flags }: Call): Promise<void> {
  const { json } = resolveTable(OPTIONS, { flags, env: process.env });
  const checks = [node(), machine(), ...engine(), await sandbox(), disk()];
  if (json) return writeOut(`${JSON.stringify({ version: packageVersion(), checks })}\n`);
  const lines = checks.flatMap(({ name, state, detail, remedy }) => [
    `${state.padEnd(8)} ${name.padEnd(8)} ${detail}`,
    ...(remedy === undefined
      ? []
      : [`${' '.repeat(18)}help: ${remedy.replaceAll('\n', `\n${' '.repeat(18)}`)}`]),
  ]);
  writeOut(`vf ${packageVersion()}\n${lines.join('\n')}\n`);
}

function node(): Check {
  return { name: 'node', state: 'ok', detail: `${process.version} ${process.platform} ${process.arch}` };
}

function machine(): Check {
  const model = cpus()[0]?.model ?? 'unknown CPU';
  const detail = `${availableParallelism()} cores (${model.trim()}), ${megabytes(freemem())} of ${megabytes(totalmem())} memory free`;
  return { name: 'machine', state: 'ok', detail };
}

function engine(): Check[] {
  try {
    const { version, cpu, cuda } = addon();
    const bf16 = cpu.bf16 ? 'bf16 products' : 'no bf16 products';
    return [
      { name: 'engine', state: 'ok', detail: `vf.node ${version}, ${cpu.isa}, ${bf16}`, facts: { cpu } },
      cudaCheck(cuda),
    ];
  } catch (error) {
    if (!(error instanceof VfError)) throw error;
    const detail = error.message;
    return [{ name: 'engine', state: 'missing', detail, remedy: error.hint ?? 'vf build' }];
  }
}

function cudaCheck(cuda: { compiled: boolean; devices: string[]; reason: string }): Check {
  const facts = { cuda };
  if (cuda.devices.length > 0) return { name: 'cuda', state: 'ok', detail: cuda.devices.join(', '), facts };
  if (cuda.compiled) return { name: 'cuda', state: 'absent', detail: cuda.reason, facts };
  return { name: 'cuda', state: 'absent', detail: 'not compiled in', remedy: 'vf build --cuda', facts };
}

/** Opens the sandbox of T3RL's tools as a run would, and closes it. */
async function sandbox(): Promise<Check> {
  const { openSandbox, sandboxLine } = await import('../../verify/sandbox.js');
  try {
    const opened = await openSandbox({ kind: 'bwrap' });
    await opened.close();
    return { name: 'sandbox', state: 'ok', detail: sandboxLine(opened.report), facts: { ...opened.report } };
  } catch (error) {
    if (!(error instanceof VfError)) throw error;
    const remedy = error.hint === undefined ? {} : { remedy: error.hint };
    return {
      name: 'sandbox',
      state: 'absent',
      detail: `${error.message} (vf ttrl --omega above 1)`,
      ...remedy,
    };
  }
}

function disk(): Check {
  const free = freeBytes('.');
  return { name: 'disk', state: 'ok', detail: `${megabytes(free)} free here`, facts: { free } };
}

const doctor: CliCommand = {
  name: 'doctor',
  about: 'What this machine can do: engine, GPU, sandbox, disk.',
  examples: ['vf doctor', 'vf doctor --json'],
  options: OPTIONS,
  run: runDoctor,
};

export const commands = [doctor];
