/** Options about the run: length, seed, what is kept, and this call's own output. */

import type { OptionTable } from '../option.js';

export const TRAINING_RUN_OPTIONS = {
  steps: {
    type: 'integer',
    default: 100,
    min: 1,
    group: 'run',
    unit: 'steps',
    onResume: 'constant',
    help: 'length of the run',
  },
  'save-every': {
    type: 'integer',
    default: 128,
    min: 0,
    group: 'run',
    unit: 'steps',
    onResume: 'free',
    help: 'steps between checkpoints; 0 saves at the end only',
  },
  keep: {
    type: 'integer',
    default: 2,
    min: 1,
    group: 'run',
    unit: 'checkpoints',
    rare: true,
    help: 'newest checkpoints to keep',
  },
} as const satisfies OptionTable;

export const SEED_OPTIONS = {
  seed: {
    type: 'integer',
    default: 1,
    min: 0,
    group: 'run',
    help: 'of every random stream; the same seed gives the same bits',
  },
} as const satisfies OptionTable;

export const TRAINING_EVAL_OPTIONS = {
  'eval-data': {
    type: 'text',
    default: null,
    group: 'evaluation',
    placeholder: 'file',
    help: 'held-out questions, in the same form as --data; the bundled set has its own',
  },
  'eval-every': {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'evaluation',
    unit: 'steps',
    onResume: 'free',
    help: 'steps between evaluations; 0 evaluates before and after only',
  },
  'eval-limit': {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'evaluation',
    unit: 'questions',
    rare: true,
    help: 'first questions of each held-out set to use; 0 takes all',
  },
  'eval-max-tokens': {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'evaluation',
    unit: 'tokens',
    rare: true,
    help: 'longest reply in an evaluation; 0 takes --max-tokens',
  },
} as const satisfies OptionTable;

/** Of the commands that train by reward. */
export const TASK_EVAL_OPTIONS = {
  'eval-tasks': {
    type: 'text',
    default: null,
    group: 'evaluation',
    placeholder: 'names',
    help: 'tasks of vf eval to measure as well, such as gsm8k,bbh:web_of_lies; --eval-data is then their file or folder',
  },
} as const satisfies OptionTable;

export const FOLDER_OPTIONS = {
  out: {
    type: 'text',
    default: null,
    transient: true,
    inFile: true,
    group: 'run',
    placeholder: 'folder',
    help: "the run's folder; a new one under runs/ when left out",
  },
  resume: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'continue the run in --out, or the newest of this command',
  },
  force: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    rare: true,
    help: 'start again in a folder that holds a run; that run is deleted',
  },
} as const satisfies OptionTable;

export const OUTPUT_OPTIONS = {
  json: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'JSON only on stdout',
  },
  plain: {
    type: 'flag',
    default: false,
    transient: true,
    group: 'run',
    help: 'a line a step, no live screen',
  },
} as const satisfies OptionTable;

export const SOURCE_OPTIONS = {
  preset: {
    type: 'text',
    default: null,
    transient: true,
    group: 'run',
    placeholder: 'name',
    help: 'settings under a name',
  },
  config: {
    type: 'text',
    default: null,
    transient: true,
    group: 'run',
    placeholder: 'file',
    help: 'YAML file of settings; keys are the names of the flags',
  },
} as const satisfies OptionTable;
