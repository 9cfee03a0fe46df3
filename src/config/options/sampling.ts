/** Options of sampling, shared by training, evaluation and `vf sample`. */

import type { OptionTable } from '../option.js';

export const SAMPLING_OPTIONS = {
  'max-tokens': {
    type: 'integer',
    default: 3000,
    min: 1,
    group: 'sampling',
    unit: 'tokens',
    help: 'longest trace; a longer one is cut and counted',
  },
  temperature: {
    type: 'number',
    default: 1,
    min: 0,
    max: 100,
    group: 'sampling',
    help: 'of sampling, rewards and learning alike',
  },
  'top-p': {
    type: 'number',
    default: 1,
    above: 0,
    max: 1,
    group: 'sampling',
    rare: true,
    help: 'nucleus sampling; 1 is off',
  },
  'top-k': {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'sampling',
    rare: true,
    help: 'sample among the k likeliest tokens; 0 is off',
  },
  'max-batch': {
    type: 'integer',
    default: 0,
    min: 0,
    group: 'sampling',
    rare: true,
    unit: 'sequences',
    help: 'sequences decoded together; 0 lets the engine choose. Bounds memory, changes no result',
  },
} as const satisfies OptionTable;

export const GROUP_OPTIONS = {
  'prompts-per-step': {
    type: 'integer',
    default: 16,
    min: 1,
    group: 'sampling',
    unit: 'questions',
    help: 'questions a step',
  },
  'group-size': {
    type: 'integer',
    default: 8,
    min: 1,
    group: 'sampling',
    unit: 'traces',
    help: 'traces a question',
  },
} as const satisfies OptionTable;
