/** Options that say which model runs where, and on which questions. */

import type { OptionTable } from '../option.js';

export const MODEL_OPTIONS = {
  model: {
    type: 'text',
    default: 'bundled',
    group: 'model and data',
    placeholder: 'path',
    help: 'a run, a checkpoint or a Hugging Face folder; bundled is the tiny model that comes with vf',
  },
  device: {
    type: 'text',
    default: 'auto',
    group: 'run',
    placeholder: 'name',
    help: 'cpu, cuda, cuda:1, …; auto takes a GPU where one is usable',
  },
  dtype: {
    type: 'choice',
    choices: ['auto', 'f32', 'bf16'],
    default: 'auto',
    group: 'run',
    rare: true,
    help: 'type of weights and products; auto is f32 on the CPU, bf16 on a GPU',
  },
  threads: {
    type: 'integer',
    default: 0,
    min: 0,
    max: 1024,
    group: 'run',
    rare: true,
    help: 'CPU threads; 0 takes every core. Changes no result',
  },
} as const satisfies OptionTable;

export const DATA_OPTIONS = {
  data: {
    type: 'text',
    default: 'bundled',
    group: 'model and data',
    placeholder: 'file',
    help: 'questions: JSONL, CSV or parquet (vf help formats)',
  },
  map: {
    type: 'pairs',
    default: {},
    group: 'model and data',
    placeholder: 'field=name',
    help: "a field's name in your file, such as answer=solution; may be repeated",
  },
  'max-prompt-tokens': {
    type: 'integer',
    default: 1024,
    min: 1,
    group: 'model and data',
    unit: 'tokens',
    rare: true,
    help: 'questions with a longer prompt, template included, are dropped and counted',
  },
} as const satisfies OptionTable;

export const BORDER_OPTIONS = {
  template: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'name',
    rare: true,
    help: "the wording around a question; the model folder's own, else the paper's",
  },
  border: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'text',
    rare: true,
    help: 'where the trace ends, when the template\'s own "<answer" can be spanned by a token',
  },
  'force-border': {
    type: 'flag',
    default: false,
    group: 'sampling',
    rare: true,
    help: 'append the border to traces without one (tests and benches only)',
  },
} as const satisfies OptionTable;
