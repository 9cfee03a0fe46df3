/** Presets: the papers' settings and the bundled models', as data. */

import type { Value } from './option.js';
import type { CommandName } from './schema.js';

export interface Preset {
  command: CommandName;
  /** One line for `--help-all` and messages. */
  help: string;
  /** Settings that the user must give beside it. */
  requires: readonly string[];
  values: Readonly<Record<string, Value>>;
}

/** VeriFree, §3.4 and Appendix A of the paper and its released scripts. */
const VERIFREE = {
  'prompts-per-step': 16,
  'group-size': 8,
  'max-tokens': 3000,
  'max-prompt-tokens': 1024,
  temperature: 1,
  lr: 1e-6,
  'lr-schedule': 'constant',
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  'weight-decay': 0,
  'clip-norm': 1,
  epochs: 1,
  'mini-batches': 1,
  reward: 'p',
  advantage: 'rloo',
  'answer-weight': 'exact',
  'length-norm': 'none',
  'save-every': 128,
} as const;

/** TTRL's released scripts; warm-up is int(0.03 × iterations). */
const TTRL = {
  votes: 64,
  'train-samples': 32,
  omega: 1,
  'max-tokens': 3072,
  temperature: 1,
  lr: 5e-7,
  'lr-schedule': 'cosine',
  beta1: 0.9,
  beta2: 0.999,
  'weight-decay': 0.01,
  'clip-norm': 1,
  epochs: 1,
  clip: 0.2,
  'dual-clip': 3,
  kl: 0.001,
  advantage: 'grpo',
  'eval-every': 2,
} as const;

const MODEL_AND_DATA = ['model', 'data'] as const;

export const PRESETS: Readonly<Record<string, Preset>> = {
  tiny: {
    command: 'train',
    help: 'the bundled tiny model on its questions: minutes on a laptop',
    requires: [],
    values: {
      'prompts-per-step': 16,
      'group-size': 8,
      'max-tokens': 56,
      'max-prompt-tokens': 256,
      lr: 1e-4,
      steps: 50,
      'save-every': 25,
      'eval-every': 0,
    },
  },
  'verifree-1.7b': {
    command: 'train',
    help: 'the VeriFree paper, Qwen3-1.7B-Base',
    requires: MODEL_AND_DATA,
    values: { ...VERIFREE, steps: 4000 },
  },
  'verifree-4b': {
    command: 'train',
    help: 'the VeriFree paper, Qwen3-4B-Base',
    requires: MODEL_AND_DATA,
    values: { ...VERIFREE, steps: 4000 },
  },
  'verifree-8b': {
    command: 'train',
    help: 'the VeriFree paper, Qwen3-8B-Base',
    requires: MODEL_AND_DATA,
    values: { ...VERIFREE, steps: 3000 },
  },
  'tiny-ttrl': {
    command: 'ttrl',
    help: 'the second bundled tiny model on its unlabeled questions',
    requires: [],
    values: {
      'prompts-per-step': 8,
      votes: 16,
      'train-samples': 16,
      'mini-batches': 1,
      'max-tokens': 96,
      'max-prompt-tokens': 256,
      temperature: 1,
      'verifier-temperature': 1,
      'verifier-max-tokens': 64,
      lr: 1e-4,
      'lr-schedule': 'constant',
      beta2: 0.95,
      'weight-decay': 0,
      kl: 0,
      clip: 'auto',
      'dual-clip': 'none',
      steps: 60,
      'save-every': 30,
      'eval-samples': 16,
      'eval-temperature': 1,
      'eval-top-p': 1,
    },
  },
  aime24: {
    command: 'ttrl',
    help: 'the TTRL paper on AIME 2024 (30 questions, 80 epochs)',
    requires: MODEL_AND_DATA,
    values: {
      ...TTRL,
      'prompts-per-step': 8,
      'mini-batches': 8,
      'max-prompt-tokens': 512,
      steps: 240,
      warmup: 7,
      'eval-samples': 16,
    },
  },
  amc: {
    command: 'ttrl',
    help: 'the TTRL paper on AMC (83 questions, 30 epochs)',
    requires: MODEL_AND_DATA,
    values: {
      ...TTRL,
      'prompts-per-step': 8,
      'mini-batches': 8,
      'max-prompt-tokens': 1024,
      steps: 300,
      warmup: 9,
    },
  },
  'math-500': {
    command: 'ttrl',
    help: 'the TTRL paper on MATH-500 (500 questions, 10 epochs)',
    requires: MODEL_AND_DATA,
    values: {
      ...TTRL,
      'prompts-per-step': 32,
      'mini-batches': 32,
      'max-prompt-tokens': 1024,
      steps: 150,
      warmup: 4,
    },
  },
  'verifree-eval': {
    command: 'eval',
    help: "the VeriFree paper's protocol: greedy, 8,192 tokens",
    requires: [],
    values: { 'max-tokens': 8192, temperature: 0, samples: 1 },
  },
  'verifree-aime24': {
    command: 'eval',
    help: "the VeriFree paper's protocol on AIME 2024: temperature 1, 32 replies",
    requires: [],
    values: { 'max-tokens': 8192, temperature: 1, samples: 32 },
  },
  'ttrl-eval': {
    command: 'eval',
    help: "TTRL's protocol on AMC and MATH-500: temperature 0.6, top-p 0.95, 4 replies",
    requires: [],
    values: { 'max-tokens': 3072, temperature: 0.6, 'top-p': 0.95, samples: 4 },
  },
  'ttrl-aime24': {
    command: 'eval',
    help: "TTRL's protocol on AIME 2024: temperature 0.6, top-p 0.95, 16 replies",
    requires: [],
    values: { 'max-tokens': 3072, temperature: 0.6, 'top-p': 0.95, samples: 16 },
  },
};

/** The preset that stands in when neither a model nor a preset is given. */
export const IMPLIED_PRESET: Readonly<Partial<Record<CommandName, string>>> = {
  train: 'tiny',
  ttrl: 'tiny-ttrl',
};
