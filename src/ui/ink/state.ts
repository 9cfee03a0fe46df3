/** What a screen shows of a run, as a pure function of its events. */

import type { EvalEvent, Metrics, RunEvent, SampleEvent, StartEvent, StepEvent } from '../../run/events.js';

export interface Warning {
  message: string;
  times: number;
}

export interface EvalPoint {
  step: number;
  metrics: Metrics;
  time: number;
}

export interface UiState {
  start: StartEvent | null;
  /** Milliseconds since 1970. */
  startedAt: number | null;
  /** The newest steps, oldest first; at most HISTORY of them. */
  steps: readonly { step: number; metrics: Metrics; time: number }[];
  /** The probe's figures, before any update (step 0). */
  signal: Metrics | null;
  /** Number and time of the first step of this session: the clock of `left`. */
  firstStep: { step: number; time: number } | null;
  evals: readonly EvalPoint[];
  sample: SampleEvent | null;
  checkpoint: { step: number; path: string } | null;
  progress: { phase: string; done: number; total: number; unit: string; since: number } | null;
  /** By code, in the order first seen. */
  warnings: Readonly<Record<string, Warning>>;
  end: { exitCode: number; summary: Record<string, unknown>; failed: boolean; time: number } | null;
}

/** Steps kept for the curves: enough for any screen, small enough for a run of days. */
export const HISTORY = 5000;

export const INITIAL_STATE: UiState = {
  start: null,
  startedAt: null,
  steps: [],
  signal: null,
  firstStep: null,
  evals: [],
  sample: null,
  checkpoint: null,
  progress: null,
  warnings: {},
  end: null,
};

/** The state after `event`. */
export function reduce(state: UiState, event: RunEvent): UiState {
  const time = Date.parse(event.time);
  switch (event.event) {
    case 'start':
      return { ...state, start: event, startedAt: time };
    case 'step':
      return event.step === 0
        ? { ...state, signal: event.metrics, progress: null }
        : addStep(state, event, time);
    case 'sample':
      return { ...state, sample: event };
    case 'eval':
      return { ...state, evals: [...state.evals, evalPoint(event, time)], progress: null };
    case 'checkpoint':
      return { ...state, checkpoint: { step: event.step, path: event.path }, progress: null };
    case 'progress': {
      const since = state.progress?.phase === event.phase ? state.progress.since : time;
      const { phase, done, total, unit } = event;
      return { ...state, progress: { phase, done, total, unit, since } };
    }
    case 'warning': {
      const times = (state.warnings[event.code]?.times ?? 0) + 1;
      const warning = { message: event.message, times };
      return { ...state, warnings: { ...state.warnings, [event.code]: warning } };
    }
    case 'end': {
      const { exitCode, summary, error } = event;
      return { ...state, end: { exitCode, summary, failed: error !== undefined, time }, progress: null };
    }
  }
}

function addStep(state: UiState, event: StepEvent, time: number): UiState {
  const { step, metrics } = event;
  const steps = [...state.steps.slice(-(HISTORY - 1)), { step, metrics, time }];
  return { ...state, steps, firstStep: state.firstStep ?? { step, time }, progress: null };
}

function evalPoint(event: EvalEvent, time: number): EvalPoint {
  return { step: event.step, metrics: event.metrics, time };
}

/** Steps of the whole run, when it says so. */
export function totalSteps(state: UiState): number | null {
  return state.start?.steps ?? null;
}

/** Seconds until the last step, from the mean pace of this session; null before one can be known. */
export function secondsLeft(state: UiState): number | null {
  const last = state.steps.at(-1);
  const total = totalSteps(state);
  if (last === undefined || total === null || state.firstStep === null) return null;
  const done = last.step - state.firstStep.step;
  const pace = done > 0 ? (last.time - state.firstStep.time) / 1000 / done : last.metrics['time/step'];
  return pace === undefined ? null : pace * Math.max(0, total - last.step);
}

/** One metric over the kept steps; steps without it are left out. */
export function series(state: UiState, metric: string): number[] {
  return state.steps.flatMap(({ metrics }) => (metric in metrics ? [metrics[metric]!] : []));
}

export interface TaskScore {
  task: string;
  accuracy: number;
  /** Standard error. */
  error: number | undefined;
  /** Share of replies without an answer. */
  unparsed: number | undefined;
  confidence: number | undefined;
}

/** The tasks of an evaluation: metrics named `eval/<task>/accuracy` with `stderr`, `unparsed`, `confidence`. */
export function taskScores(metrics: Metrics): TaskScore[] {
  return Object.keys(metrics).flatMap((name) => {
    const task = /^eval\/(.+)\/accuracy$/.exec(name)?.[1];
    if (task === undefined) return [];
    const of = (what: string) => metrics[`eval/${task}/${what}`];
    return [
      {
        task,
        accuracy: metrics[name]!,
        error: of('stderr'),
        unparsed: of('unparsed'),
        confidence: of('confidence'),
      },
    ];
  });
}

/** `before`, `after 120` or `step 40`: when in the run an evaluation was made; '' where it is the whole job. */
export function evalLabel(state: UiState, step: number): string {
  if (state.start?.command === 'eval') return '';
  if (step === 0) return 'before';
  return step === totalSteps(state) ? `after ${step}` : `step ${step}`;
}

/** Accuracy of `task` at the first evaluation that has it. */
export function firstAccuracy(state: UiState, task: string): { step: number; accuracy: number } | null {
  const name = `eval/${task}/accuracy`;
  const first = state.evals.find(({ metrics }) => name in metrics);
  return first === undefined ? null : { step: first.step, accuracy: first.metrics[name]! };
}
