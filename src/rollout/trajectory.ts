/** Trajectory: one sampled trace, with its ids as sampled. No text of a completion is ever encoded again. */

import type { Question } from '../data/question.js';
import type { Finish } from '../native/types.js';

export interface Trajectory {
  /** z: ids as sampled, the border's last token included. */
  ids: Int32Array;
  /** One a token, at the sampling temperature. */
  logprobs: Float32Array;
  finish: Finish;
  /** Decoded for people, answer extraction and logs only. */
  text: string;
  /** Log-probs of each continuation's tokens, one array a reference; empty without border. */
  answerLogprobs: Float32Array[];
}

/** All traces of one question in one step. */
export interface Group {
  question: Question;
  /** The question's occurrence in the run (its random stream). */
  occurrence: number;
  promptIds: Int32Array;
  /** Patch ids, one array a reference (`> \boxed{REF} </answer>`). */
  patches: Int32Array[];
  traces: Trajectory[];
}
