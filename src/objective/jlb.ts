/**
 * JLB, Jensen's lower bound (VeriFree §3.3): maximises E_z log π(y* | x, z), so R = log π(y* | x, z) for the trace and weight 1
 * for the answer. It pushes the reference after poor traces as hard as after good ones.
 */

import type { Objective } from './objective.js';
import { type VeriFreeOptions, verifree } from './verifree.js';

/** The JLB baseline; the remaining options are VeriFree's. */
export function jlb(options: Omit<VeriFreeOptions, 'reward' | 'rewardExponent' | 'answerWeight'>): Objective {
  return { ...verifree({ ...options, reward: 'logp', rewardExponent: 1, answerWeight: 'one' }), name: 'jlb' };
}
