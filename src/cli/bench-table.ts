/** The tables of `vf bench`: repeats of each work, a peer's in turn with ours, medians and ratios. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandSettings } from '../config/schema.js';
import { VfError } from '../errors.js';
import { writeGguf } from '../model/gguf.js';
import type { Policy } from '../native/policy.js';
import type { LoadInfo, ModelSpec, TensorSource } from '../native/types.js';
import { count, fixed } from '../ui/format.js';
import { type Peer, startLlama, startTorch } from './bench-peer.js';
import {
  DECODE_SIZES,
  decodeOnce,
  randomRows,
  STEP_SIZES,
  type StepTimes,
  TRAIN_OPTIMIZER,
  TRAIN_SIZES,
  trainOnce,
  verifreeOnce,
} from './bench-work.js';
import { writeErr } from './output.js';

export interface BenchModel {
  /** Temporary; a peer's files go there. */
  folder: string;
  /** The Hugging Face folder. */
  out: string;
  spec: ModelSpec;
  tensors: TensorSource[];
  dtype: 'f32' | 'bf16';
  policy: Policy;
  info: LoadInfo;
}

export interface BenchTable {
  /** One line: the work in words, with every length. */
  about: string;
  /** The same as numbers. */
  sizes: Record<string, unknown>;
  heading: string[];
  cells: string[][];
  notes: string[];
  /** What the table shows, unrounded, with every repeat. */
  rows: Record<string, unknown>[];
}

type Settings = CommandSettings<'bench'>;

/** How far torch's first loss may be from ours on the same weights and ids. */
const LOSS_BOUND = 1e-4;

interface TrainTimes {
  engine: string;
  /** One a repeat: seconds of the step, loss before its update. */
  times: { seconds: number; loss: number }[];
}

/** 16 × 256 tokens through a whole training step. */
export async function benchTrain(model: BenchModel, settings: Settings): Promise<BenchTable> {
  const rows = randomRows(model.spec, settings.seed, 0, TRAIN_SIZES.rows, TRAIN_SIZES.tokens + 1);
  const before = await trainOnce(model.policy, rows, 0, false);
  const peer = await torchPeer(model, rows, settings.peer);
  if (peer) agreeAtFirst(before.loss, Number(peer.ready.loss));
  const measured = await trainRepeats(model, rows, peer, settings.repeats).finally(() => peer?.close());
  const results = measured.map(({ engine, times }) => {
    const seconds = median(times.map((time) => time.seconds));
    const tokensPerSecond = (TRAIN_SIZES.rows * TRAIN_SIZES.tokens) / seconds;
    return { engine, seconds, tokensPerSecond, lastLoss: times[times.length - 1]!.loss, times };
  });
  const [own, other] = results;
  const beside = other
    ? { ratio: other.seconds / own!.seconds, lossBefore: before.loss, peer: peer!.ready }
    : null;
  return {
    about: `${TRAIN_SIZES.rows} × ${TRAIN_SIZES.tokens} tokens, all through the head, no prefix shared, nothing recomputed, AdamW included`,
    sizes: { ...TRAIN_SIZES, tokensComputed: before.tokensComputed, optimizer: TRAIN_OPTIMIZER },
    heading: ['engine', '>step s', '>tokens/s', '>loss at the end'],
    cells: results.map(({ engine, seconds, tokensPerSecond, lastLoss }) => [
      engine,
      fixed(seconds, 3),
      count(tokensPerSecond),
      fixed(lastLoss, 5),
    ]),
    notes: beside
      ? [
          `vf over torch: ${fixed(beside.ratio, 2)} times the tokens/s`,
          `loss before any update: vf ${fixed(before.loss, 6)}, torch ${fixed(Number(peer!.ready.loss), 6)}; torch's product of 1024³: ${count(Number(peer!.ready.gflops))} GFLOP/s`,
        ]
      : [],
    rows: [...results, ...(beside ? [beside] : [])],
  };
}

/** Ours and the peer's steps in turn, after one of each that is not counted. */
async function trainRepeats(
  model: BenchModel,
  rows: readonly Int32Array[],
  peer: Peer | null,
  repeats: number,
): Promise<TrainTimes[]> {
  const ours: TrainTimes = { engine: 'vf', times: [] };
  const theirs: TrainTimes = { engine: String(peer?.ready.version), times: [] };
  for (let i = 0; i <= repeats; i++) {
    const { seconds, loss } = await trainOnce(model.policy, rows, i, true);
    const other = peer ? await peer.run('') : null;
    if (i === 0) continue;
    ours.times.push({ seconds, loss });
    if (other) theirs.times.push({ seconds: Number(other.seconds), loss: Number(other.loss) });
    writeErr(`repeat ${i} of ${repeats}\n`);
  }
  return peer ? [ours, theirs] : [ours];
}

async function torchPeer(
  model: BenchModel,
  rows: readonly Int32Array[],
  name: Settings['peer'],
): Promise<Peer | null> {
  if (name === 'none') return null;
  const file = path.join(model.folder, 'ids.json');
  writeFileSync(file, JSON.stringify({ rows: rows.map((row) => [...row]), ...TRAIN_OPTIMIZER }));
  return startTorch(model.out, file, model.info.threads, name === 'torch');
}

function agreeAtFirst(own: number, other: number): void {
  if (Math.abs(own - other) <= LOSS_BOUND) return;
  throw new VfError(
    'VF_PEER',
    `Expected torch's loss within ${LOSS_BOUND} of ${own} on the same weights and ids but received ${other}`,
    { exitCode: 1, hint: 'both must compute in f32: --dtype f32' },
  );
}

/** Greedy decoding at three batch sizes. */
export async function benchDecode(model: BenchModel, settings: Settings): Promise<BenchTable> {
  const { batches, prompt, newTokens } = DECODE_SIZES;
  const prompts = randomRows(model.spec, settings.seed, 0, Math.max(...batches), prompt);
  const peer = settings.peer === 'llama' ? await llamaPeer(model, prompts) : null;
  const rows: Record<string, unknown>[] = [];
  const cells: string[][] = [];
  try {
    for (const batch of batches) {
      const row = await decodeRow(model.policy, prompts.slice(0, batch), peer, settings.repeats);
      rows.push(row);
      const { tokensPerSecond, beside } = row;
      const other = beside
        ? [
            count(beside.tokensPerSecond),
            String(beside.threads),
            fixed(beside.ratio, 2),
            `${fixed(beside.sameTokens * 100, 1)} %`,
          ]
        : [];
      cells.push([String(batch), count(tokensPerSecond), ...other]);
      writeErr(`batch ${batch} done\n`);
    }
  } finally {
    peer?.close();
  }
  const version = peer === null ? null : String(peer.ready.version);
  return {
    about: `prompt ${prompt}, ${newTokens} new tokens, greedy, prefill not counted`,
    sizes: { batches, prompt, newTokens },
    heading: [
      '>batch',
      '>vf tokens/s',
      ...(version === null ? [] : [`>${version} tokens/s`, '>its threads', '>ratio', '>same tokens']),
    ],
    cells,
    notes: [],
    rows: [...rows, ...(version === null ? [] : [{ peer: peer!.ready }])],
  };
}

async function decodeRow(policy: Policy, prompts: readonly Int32Array[], peer: Peer | null, repeats: number) {
  const { newTokens } = DECODE_SIZES;
  const batch = prompts.length;
  const own = await decodeOnce(policy, prompts, newTokens);
  const other = peer ? ((await peer.run(String(batch))) as { tokens: number[][]; threads: number }) : null;
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let i = 0; i < repeats; i++) {
    ours.push((await decodeOnce(policy, prompts, newTokens)).seconds);
    if (peer) theirs.push(Number((await peer.run(String(batch))).seconds));
  }
  // The first token of a sequence comes out of the prefill.
  const speed = (times: number[]) => (batch * (newTokens - 1)) / median(times);
  const base = { batch, tokensPerSecond: speed(ours), seconds: ours };
  if (!other) return { ...base, beside: null };
  const same = own.tokens.flatMap((row, i) => row.map((id, at) => Number(id === other.tokens[i]?.[at])));
  const beside = {
    tokensPerSecond: speed(theirs),
    seconds: theirs,
    ratio: speed(ours) / speed(theirs),
    threads: other.threads,
    sameTokens: same.reduce((a, b) => a + b, 0) / same.length,
  };
  return { ...base, beside };
}

async function llamaPeer(model: BenchModel, prompts: readonly Int32Array[]): Promise<Peer> {
  const gguf = path.join(model.folder, 'model.gguf');
  await writeGguf(model, gguf);
  const file = path.join(model.folder, 'prompts.json');
  writeFileSync(file, JSON.stringify(prompts.map((ids) => [...ids])));
  return startLlama(gguf, file, DECODE_SIZES.newTokens, model.info.threads);
}

/** A whole VeriFree step, phase by phase. */
export async function benchStep(model: BenchModel, settings: Settings): Promise<BenchTable> {
  const { questions, group, prompt, trace, patch } = STEP_SIZES;
  await verifreeOnce(model.policy, model.spec, settings.seed, 1);
  const times: StepTimes[] = [];
  for (let i = 0; i < settings.repeats; i++) {
    times.push(await verifreeOnce(model.policy, model.spec, settings.seed, i + 2));
    writeErr(`step ${i + 1} of ${settings.repeats}\n`);
  }
  const { stats, trainTokens } = times[0]!;
  const middle = (of: (time: StepTimes) => number) => median(times.map(of));
  const phases = [
    { phase: 'prompts', tokens: stats.prefillTokens, seconds: middle((t) => t.stats.prefillSeconds) },
    { phase: 'traces', tokens: stats.decodeTokens, seconds: middle((t) => t.stats.decodeSeconds) },
    {
      phase: 'answers',
      tokens: stats.continuationTokens,
      seconds: middle((t) => t.stats.continuationSeconds),
    },
    { phase: 'update', tokens: trainTokens, seconds: middle((t) => t.trainSeconds) },
  ];
  const all = phases.reduce((sum, { tokens }) => sum + tokens, 0);
  const rows = [...phases, { phase: 'step', tokens: all, seconds: middle((t) => t.seconds) }];
  const whole = rows[rows.length - 1]!.seconds;
  const share = phases[2]!.seconds / phases[1]!.seconds / (patch / trace);
  return {
    about: `${questions} questions × ${group} traces; prompt ${prompt}, trace ${trace} with its forced border, patch ${patch} tokens`,
    sizes: STEP_SIZES,
    heading: ['phase', '>tokens computed', '>s', '>share', '>tokens/s'],
    cells: rows.map(({ phase, tokens, seconds }) => [
      phase,
      count(tokens),
      fixed(seconds, 3),
      `${fixed((seconds / whole) * 100, 1)} %`,
      count(tokens / seconds),
    ]),
    notes: [`answers over traces, a token: ${fixed(share, 2)} (time of the answers × trace / patch)`],
    rows: [...rows, { answersOverTraces: share, times }],
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
