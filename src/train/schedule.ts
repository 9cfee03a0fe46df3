/** Learning rate as a pure function of the step, so that a resume can't lose its place. */

export interface Schedule {
  kind: 'constant' | 'cosine';
  /** Peak. */
  lr: number;
  /** Steps of linear warm-up from 0. */
  warmupSteps: number;
  /** Steps of the whole run; the cosine reaches `floor * lr` at its end. */
  totalSteps: number;
  /** Share of the peak at the end of a cosine. */
  floor: number;
}

/** The learning rate of step `step` (1-based). */
export function learningRate(schedule: Schedule, step: number): number {
  const { kind, lr, warmupSteps, totalSteps, floor } = schedule;
  if (step <= warmupSteps) return (lr * step) / warmupSteps;
  if (kind === 'constant') return lr;
  const span = Math.max(1, totalSteps - warmupSteps);
  const done = Math.min(1, (step - warmupSteps) / span);
  return lr * (floor + (1 - floor) * 0.5 * (1 + Math.cos(Math.PI * done)));
}
