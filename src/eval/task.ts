/** Task: one benchmark as data. What its rows look like, how a reply is judged, and where the published files are. */

import type { FieldMap } from '../data/fields.js';
import type { Row } from '../data/rows.js';

/**
 * How a reply is read: `boxed` the last box alone (as in training), `answer` the last box or a stated answer, `choice`
 * the letter of an option, `knights` who is what.
 */
export type JudgeKind = 'boxed' | 'answer' | 'choice' | 'knights';

/** One question of a task. */
export interface Item {
  id: string;
  /** Without its options. */
  question: string;
  /** Accepted answers; of a choice the letter. */
  answers: string[];
  /** '' when the data has none. */
  category: string;
  judge: JudgeKind;
  /** Texts of the options as shown. */
  options?: string[];
  /** Option i as shown is option order[i] of the file (GPQA). */
  order?: number[];
  /** Further groups to average over: name → this question's group. */
  groups?: Record<string, string>;
  /** The options already stand in the question. */
  optionsInQuestion?: boolean;
  /** Worked solution, for few-shot examples. */
  solution?: string;
}

export interface ReadContext {
  /** --seed. */
  seed: number;
  /** --map; tasks with published columns have their own names and use only what it gives. */
  map: FieldMap;
}

/** Files on the hub, by their path in the repository. */
export interface HubSource {
  repo: string;
  files: readonly string[];
  /** What the owner asks before a download. */
  gated?: string;
}

/** Where worked examples come from: a split of the same data (rows), or a text put before the question as it is. */
export interface ExampleSource {
  kind: 'rows' | 'text';
  /** Tried in this order beside the data file and on the hub. */
  files: readonly string[];
  /** Examples of the original protocol. */
  shots: number;
}

export interface Task {
  /** As typed after `vf eval`. */
  name: string;
  /** The name in metrics (`eval/<metric>/accuracy`). */
  metric: string;
  /** One line for help and messages. */
  about: string;
  source:
    | { kind: 'hub'; hub: HubSource }
    /** A question set that comes with vf. */
    | { kind: 'bundled'; set: 'test' }
    /** --data names it; nothing stands in. */
    | { kind: 'file' }
    | { kind: 'generated' };
  /** Rows of the published set; another count is warned about. Null: any. */
  rows: number | null;
  /** A row as a question. @throws VfError with file and line for a row of another form. */
  read?(row: Row, context: ReadContext): Item;
  /** Questions of a generated task. */
  generate?(context: ReadContext, count: number): Item[];
  examples?: ExampleSource;
}
