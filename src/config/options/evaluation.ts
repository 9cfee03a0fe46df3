/** Options of `vf eval`, `vf sample`, `vf score`, `vf sft` and `vf bench` that no other command shares. */

import type { OptionTable } from '../option.js';

export const EVAL_OPTIONS = {
  tasks: {
    type: 'text',
    default: 'bundled',
    group: 'evaluation',
    rare: true,
    placeholder: 'names',
    help: 'the tasks, separated by commas; the words after vf eval in a file of settings',
  },
  limit: {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'evaluation',
    unit: 'questions',
    help: 'first questions of each task only; 0 takes all',
  },
  samples: {
    type: 'integer',
    default: 1,
    min: 1,
    group: 'evaluation',
    unit: 'replies',
    help: 'replies a question',
  },
  prompt: {
    type: 'choice',
    choices: ['verifree', 'mmlu-pro', 'general-reasoner', 'plain'],
    default: 'verifree',
    group: 'evaluation',
    help: 'the wording around a question, as published',
  },
  'few-shot': {
    type: 'integer',
    default: 'auto',
    min: 0,
    words: ['auto'],
    group: 'evaluation',
    rare: true,
    unit: 'examples',
    help: 'worked examples before the question; auto as the task has it',
  },
  chat: {
    type: 'flag',
    default: false,
    group: 'evaluation',
    rare: true,
    help: "put the prompt in the model's chat template",
  },
  compat: {
    type: 'choice',
    choices: ['none', 'general-reasoner', 'mmlu-pro', 'lm-eval', 'supergpqa'],
    default: 'none',
    group: 'evaluation',
    rare: true,
    help: "also score with another harness's rules, its guessing included",
  },
  overlap: {
    type: 'text',
    default: null,
    group: 'evaluation',
    placeholder: 'file',
    rare: true,
    help: 'training file to report 13-gram overlap with',
  },
  confidence: {
    type: 'flag',
    default: true,
    group: 'evaluation',
    rare: true,
    help: 'also score the reference after each trace',
  },
} as const satisfies OptionTable;

export const SFT_OPTIONS = {
  recipe: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'name',
    help: 'make a bundled model from nothing but this repository: tiny, tiny-plain, tiny-t3rl, …',
  },
  'batch-size': {
    type: 'integer',
    default: 32,
    min: 1,
    group: 'optimizer',
    unit: 'rows',
    help: 'rows a step',
  },
  'loss-on': {
    type: 'choice',
    choices: ['completion', 'all'],
    default: 'completion',
    group: 'objective',
    help: 'tokens that are learnt',
  },
  'max-tokens': {
    type: 'integer',
    default: 1024,
    min: 1,
    group: 'model and data',
    unit: 'tokens',
    help: 'longer rows are dropped and counted',
  },
} as const satisfies OptionTable;

export const SAMPLE_OPTIONS = {
  prompt: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'text',
    help: 'the question',
  },
  reference: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'answer',
    help: 'also show R, the probability of this answer after each trace',
  },
  raw: {
    type: 'flag',
    default: false,
    group: 'sampling',
    help: 'the prompt as it is, in no template',
  },
  samples: {
    type: 'integer',
    default: 1,
    min: 1,
    group: 'sampling',
    unit: 'replies',
    help: 'replies to sample',
  },
} as const satisfies OptionTable;

export const BENCH_OPTIONS = {
  shape: {
    type: 'choice',
    choices: ['A', 'B', 'qwen3-0.6b', 'qwen3-1.7b'],
    default: 'A',
    group: 'model and data',
    help: 'shape of the model: A and B fit a laptop',
  },
  repeats: {
    type: 'integer',
    default: 5,
    min: 1,
    group: 'run',
    help: 'timed repetitions; the median is printed',
  },
  peer: {
    type: 'choice',
    choices: ['none', 'torch', 'torch-untuned', 'llama'],
    default: 'none',
    group: 'run',
    help: 'also time another engine in turn: torch or torch-untuned (train), llama (decode, node-llama-cpp)',
  },
} as const satisfies OptionTable;

/** Of `vf bench ttrl`, which trains the bundled test-time model again and again. */
export const BENCH_TTRL_OPTIONS = {
  omegas: {
    type: 'text',
    default: '1,5',
    group: 'voting',
    placeholder: 'list',
    help: 'ttrl: weights of a verified vote, separated by commas',
  },
  seeds: {
    type: 'text',
    default: '0,1,2',
    group: 'voting',
    placeholder: 'list',
    help: 'verifree, ttrl: seeds, separated by commas',
  },
  bases: {
    type: 'pairs',
    default: {},
    group: 'model and data',
    placeholder: 'name=model',
    help: 'verifree: other bases to start from, beside the bundled one; may be repeated',
  },
  verifiers: {
    type: 'pairs',
    default: {},
    group: 'voting',
    placeholder: 'name=model',
    help: 'ttrl: other verifiers to run at omega 5; may be repeated',
  },
  tool: {
    type: 'choice',
    choices: ['python', 'smt'],
    default: 'python',
    group: 'voting',
    help: 'ttrl: programs in the sandbox, or puzzles by built-in rules',
  },
  steps: {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'voting',
    unit: 'steps',
    help: "ttrl: length of each run; 0 takes the preset's",
  },
  out: {
    type: 'text',
    default: 'runs/bench',
    group: 'voting',
    placeholder: 'folder',
    help: 'verifree, ttrl: where the runs lie; finished ones are read, not run again',
  },
} as const satisfies OptionTable;

export const PROBE_OPTIONS = {
  probe: {
    type: 'integer',
    default: 0,
    min: 0,
    transient: true,
    group: 'run',
    unit: 'questions',
    help: 'sample this many groups, update nothing, and say whether model and data carry signal',
  },
  estimate: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'print the memory plan and whether it fits the device; loads and runs nothing',
  },
} as const satisfies OptionTable;
