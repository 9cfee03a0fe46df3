/** Options of the VeriFree objective and of the policy-gradient loss. */

import type { OptionTable } from '../option.js';

export const OBJECTIVE_OPTIONS = {
  objective: {
    type: 'choice',
    choices: ['verifree', 'jlb', 'latro', 'verifier'],
    default: 'verifree',
    group: 'objective',
    help: "what is maximised: the paper's method, or one of its baselines",
  },
  'latro-beta': {
    type: 'number',
    default: 1,
    min: 0,
    group: 'objective',
    rare: true,
    help: "weight of the KL to the start model in LaTRO's reward",
  },
  reward: {
    type: 'choice',
    choices: ['p', 'p_mean', 'logp'],
    default: 'p',
    group: 'objective',
    help: 'R from the probability of the reference: p its product, p_mean the mean over its tokens, logp its log',
  },
  'reward-exponent': {
    type: 'number',
    default: 1,
    above: 0,
    max: 100,
    group: 'objective',
    rare: true,
    help: 'R to this power',
  },
  'length-norm': {
    type: 'number',
    default: 'none',
    above: 0,
    words: ['none', 'max_tokens'],
    group: 'objective',
    rare: true,
    help: "constant divisor of every trace's terms",
  },
  advantage: {
    type: 'choice',
    choices: ['rloo', 'mean', 'none'],
    default: 'rloo',
    group: 'objective',
    help: 'baseline of R: the other traces of the group, all of them, or none',
  },
  'answer-weight': {
    type: 'choice',
    choices: ['exact', 'one', 'advantage', 'none'],
    default: 'exact',
    group: 'objective',
    help: "weight of the reference's own likelihood: exact is the gradient of the chosen reward",
  },
} as const satisfies OptionTable;

export const LOSS_OPTIONS = {
  epochs: {
    type: 'integer',
    default: 1,
    min: 1,
    group: 'objective',
    rare: true,
    help: "passes over a step's traces",
  },
  'mini-batches': {
    type: 'integer',
    default: 1,
    min: 1,
    group: 'objective',
    rare: true,
    help: 'updates a pass; each takes whole groups',
  },
  clip: {
    type: 'number',
    default: 'auto',
    above: 0,
    words: ['auto', 'none'],
    group: 'objective',
    rare: true,
    help: 'PPO clip of the ratio; auto is none with one update a step, else 0.2',
  },
  'dual-clip': {
    type: 'number',
    default: 'none',
    above: 1,
    words: ['none'],
    group: 'objective',
    rare: true,
    help: 'bound of the ratio where the advantage is negative',
  },
  kl: {
    type: 'number',
    default: 0,
    min: 0,
    group: 'objective',
    rare: true,
    help: 'coefficient of the KL penalty to the start model; 0 keeps no reference in memory',
  },
  'tis-cap': {
    type: 'number',
    default: 'none',
    above: 0,
    words: ['none'],
    group: 'objective',
    rare: true,
    help: 'cap of the importance weight that corrects a sampler unlike the learner',
  },
} as const satisfies OptionTable;
