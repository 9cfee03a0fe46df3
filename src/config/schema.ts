/** The options of every command, composed of the groups in options/. One row here is all a new setting needs. */

import { type OptionTable, pick, type Settings, withDefaults } from './option.js';
import {
  BENCH_OPTIONS,
  BENCH_TTRL_OPTIONS,
  EVAL_OPTIONS,
  PROBE_OPTIONS,
  SAMPLE_OPTIONS,
  SFT_OPTIONS,
} from './options/evaluation.js';
import { BORDER_OPTIONS, DATA_OPTIONS, MODEL_OPTIONS } from './options/model.js';
import { LOSS_OPTIONS, OBJECTIVE_OPTIONS } from './options/objective.js';
import { OPTIMIZER_OPTIONS } from './options/optimizer.js';
import {
  FOLDER_OPTIONS,
  OUTPUT_OPTIONS,
  SEED_OPTIONS,
  SOURCE_OPTIONS,
  TASK_EVAL_OPTIONS,
  TRAINING_EVAL_OPTIONS,
  TRAINING_RUN_OPTIONS,
} from './options/run.js';
import { GROUP_OPTIONS, SAMPLING_OPTIONS } from './options/sampling.js';
import { VERIFIER_OPTIONS, VOTING_EVAL_OPTIONS, VOTING_OPTIONS } from './options/ttrl.js';

const TRAIN = {
  ...MODEL_OPTIONS,
  ...DATA_OPTIONS,
  ...BORDER_OPTIONS,
  ...GROUP_OPTIONS,
  ...SAMPLING_OPTIONS,
  ...OBJECTIVE_OPTIONS,
  ...LOSS_OPTIONS,
  ...OPTIMIZER_OPTIONS,
  ...TRAINING_EVAL_OPTIONS,
  ...TASK_EVAL_OPTIONS,
  ...TRAINING_RUN_OPTIONS,
  ...SEED_OPTIONS,
  ...PROBE_OPTIONS,
  ...FOLDER_OPTIONS,
  ...SOURCE_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable;

const TTRL = {
  ...MODEL_OPTIONS,
  ...DATA_OPTIONS,
  ...pick(BORDER_OPTIONS, 'template'),
  ...pick(GROUP_OPTIONS, 'prompts-per-step'),
  ...SAMPLING_OPTIONS,
  ...VOTING_OPTIONS,
  ...VERIFIER_OPTIONS,
  ...withDefaults(LOSS_OPTIONS, { clip: 0.2, 'dual-clip': 3, kl: 0.001 }),
  ...withDefaults(OPTIMIZER_OPTIONS, {
    lr: 5e-7,
    'lr-schedule': 'cosine',
    beta2: 0.999,
    'weight-decay': 0.01,
  }),
  ...TRAINING_EVAL_OPTIONS,
  ...TASK_EVAL_OPTIONS,
  ...VOTING_EVAL_OPTIONS,
  ...TRAINING_RUN_OPTIONS,
  ...SEED_OPTIONS,
  ...FOLDER_OPTIONS,
  ...SOURCE_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable;

const SFT = {
  ...MODEL_OPTIONS,
  ...pick(DATA_OPTIONS, 'data', 'map'),
  ...SFT_OPTIONS,
  ...withDefaults(OPTIMIZER_OPTIONS, { lr: 1e-5, 'lr-schedule': 'cosine' }),
  ...TRAINING_EVAL_OPTIONS,
  ...TRAINING_RUN_OPTIONS,
  ...SEED_OPTIONS,
  ...FOLDER_OPTIONS,
  ...SOURCE_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable;

const EVAL = {
  ...MODEL_OPTIONS,
  ...withDefaults(DATA_OPTIONS, { 'max-prompt-tokens': 8192 }),
  ...EVAL_OPTIONS,
  ...withDefaults(SAMPLING_OPTIONS, { 'max-tokens': 8192, temperature: 0 }),
  ...SEED_OPTIONS,
  ...FOLDER_OPTIONS,
  ...SOURCE_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable;

const SAMPLE = {
  ...MODEL_OPTIONS,
  ...SAMPLE_OPTIONS,
  ...BORDER_OPTIONS,
  ...withDefaults(SAMPLING_OPTIONS, { 'max-tokens': 512 }),
  ...SEED_OPTIONS,
  ...pick(OUTPUT_OPTIONS, 'json'),
} as const satisfies OptionTable;

const SCORE = {
  ...MODEL_OPTIONS,
  ...pick(SAMPLING_OPTIONS, 'temperature'),
  ...pick(OPTIMIZER_OPTIONS, 'micro-batch-tokens'),
  ...pick(OUTPUT_OPTIONS, 'json'),
} as const satisfies OptionTable;

const BENCH = {
  ...MODEL_OPTIONS,
  ...BENCH_OPTIONS,
  ...BENCH_TTRL_OPTIONS,
  ...SEED_OPTIONS,
  ...pick(OUTPUT_OPTIONS, 'json'),
} as const satisfies OptionTable;

/** The options of each command that has settings. */
export const COMMAND_OPTIONS = {
  train: TRAIN,
  ttrl: TTRL,
  sft: SFT,
  eval: EVAL,
  sample: SAMPLE,
  score: SCORE,
  bench: BENCH,
} as const;

export type CommandName = keyof typeof COMMAND_OPTIONS;
export type CommandSettings<C extends CommandName> = Settings<(typeof COMMAND_OPTIONS)[C]>;
export type TrainSettings = CommandSettings<'train'>;
export type TtrlSettings = CommandSettings<'ttrl'>;
export type SftSettings = CommandSettings<'sft'>;
export type EvalSettings = CommandSettings<'eval'>;
export type SampleSettings = CommandSettings<'sample'>;
export type ScoreSettings = CommandSettings<'score'>;
export type BenchSettings = CommandSettings<'bench'>;
