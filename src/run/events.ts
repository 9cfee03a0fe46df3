/** RunEvent: all that the outside (UI, `--json`, files, reports) may know of a run. New fields may be added, none renamed. */

export type Metrics = Record<string, number>;

interface Base {
  v: 1;
  /** The run's folder name. */
  run: string | null;
  /** ISO 8601. */
  time: string;
  step?: number;
}

export interface StartEvent extends Base {
  event: 'start';
  command: string;
  version: string;
  device: string;
  /** Lines of the first screen: label and value, in order. */
  banner: { label: string; value: string }[];
  /** Effective settings (flag name → value). */
  settings: Record<string, unknown>;
  folder: string | null;
  steps?: number;
  resumedFrom?: number;
}
export interface StepEvent extends Base {
  event: 'step';
  step: number;
  metrics: Metrics;
}
/** One question's group of a step, for people to read. */
export interface SampleEvent extends Base {
  event: 'sample';
  step: number;
  question: string;
  prompt: string;
  reference: string;
  traces: {
    text: string;
    ids: number[];
    finish: string;
    logReward: number | null;
    reward: number;
    advantage: number;
  }[];
}
export interface EvalEvent extends Base {
  event: 'eval';
  step: number;
  metrics: Metrics;
}
export interface CheckpointEvent extends Base {
  event: 'checkpoint';
  step: number;
  path: string;
}
export interface ProgressEvent extends Base {
  event: 'progress';
  /** What is going on: loading, sampling, evaluating, saving, building. */
  phase: string;
  done: number;
  total: number;
  unit: string;
}
export interface WarningEvent extends Base {
  event: 'warning';
  code: string;
  message: string;
}
export interface EndEvent extends Base {
  event: 'end';
  exitCode: number;
  summary: Record<string, unknown>;
  error?: { code: string; message: string; hint?: string; file?: string; line?: number };
}

export type RunEvent =
  | StartEvent
  | StepEvent
  | SampleEvent
  | EvalEvent
  | CheckpointEvent
  | ProgressEvent
  | WarningEvent
  | EndEvent;

/** An event as its maker writes it: the emitter adds v, run and time. */
export type EventBody = RunEvent extends infer E
  ? E extends RunEvent
    ? Omit<E, 'v' | 'run' | 'time'>
    : never
  : never;
export type Emit = (event: EventBody) => void;
