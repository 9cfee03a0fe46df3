/** `vf doctor`: what this machine can do, and what to type where something is missing. */

import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { type OptionTable, pick } from '../../config/option.js';
import { OUTPUT_OPTIONS } from '../../config/options/run.js';
import { resolveTable } from '../../config/resolve.js';
import { VfError } from '../../errors.js';
import { addon } from '../../native/binding.js';
import { opTable } from '../../native/ops.js';
import type { CudaState } from '../../native/types.js';
import { freeBytes, megabytes } from '../../run/disk.js';
import type { Call, CliCommand } from '../command.js';
import { writeOut } from '../output.js';
import { packageVersion } from '../package.js';

const OPTIONS = {
  ...pick(OUTPUT_OPTIONS, 'json'),
  ops: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'every op × device × number format',
  },
} as const satisfies OptionTable;

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
  const { json, ops } = resolveTable(OPTIONS, { flags, env: process.env });
  if (ops) return printOps(json);
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
      ...switchChecks(cuda),
    ];
  } catch (error) {
    if (!(error instanceof VfError)) throw error;
    const detail = error.message;
    return [{ name: 'engine', state: 'missing', detail, remedy: error.hint ?? 'vf build' }];
  }
}

/** What waits behind a switch until hardware has shown it right. */
function switchChecks({ switches }: CudaState): Check[] {
  return Object.entries(switches).map(([name, state]) => ({
    name: 'switch',
    state: state.startsWith('on') ? 'ok' : 'absent',
    detail: `${name}: ${state}`,
  }));
}

/** The table of ops; a cell says what stands for its numbers. */
function printOps(json: boolean): void {
  const rows = opTable(addon());
  if (json) {
    writeOut(`${JSON.stringify({ version: packageVersion(), ops: rows })}\n`);
    return;
  }
  const columns = ['cpu f32', 'cpu bf16', 'cuda f32', 'cuda bf16'];
  const lines = [...new Set(rows.map(({ op }) => op))].map((op) => {
    const cells = rows.filter((row) => row.op === op).map(({ state }) => state.padEnd(12));
    return `${op.padEnd(20)}${cells.join('')}`.trimEnd();
  });
  const head = `${'op'.padEnd(20)}${columns.map((column) => column.padEnd(12)).join('')}`.trimEnd();
  writeOut(`${head}\n${lines.join('\n')}\n`);
}

function cudaCheck(cuda: CudaState): Check {
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
