/** Writes a run's events to its files: events, metrics and samples as JSONL, scalars for TensorBoard. */

import type { EventBody, RunEvent } from './events.js';
import { RUN_FILES } from './folder.js';
import type { RunStore } from './store.js';
import { scalarRecord, textRecord, versionRecord } from './tensorboard.js';

/** A consumer of the event stream. */
export type EventSink = (event: RunEvent) => void;

/**
 * The sink that writes a run's files, and keeps the run from its start on. Step and eval lines of metrics.jsonl are `{event, step, metrics}`: no time, so that a
 * resumed run's file equals an uninterrupted one's but for metrics that are times themselves.
 */
export function runLog(store: RunStore): EventSink {
  const events = store.file(RUN_FILES.events);
  const metrics = store.file(RUN_FILES.metrics);
  const samples = store.file(RUN_FILES.samples);
  const board = store.file(RUN_FILES.tensorboard);
  const seconds = (event: RunEvent) => Date.parse(event.time) / 1000;
  return (event) => {
    if (event.event === 'progress') return;
    if (event.event === 'start') store.keep();
    events.append(event);
    if (event.event === 'step' || event.event === 'eval') {
      metrics.append({ event: event.event, step: event.step, metrics: event.metrics });
      if (board.length() === 0) board.appendBytes(versionRecord(seconds(event)));
      board.appendBytes(scalarRecord(seconds(event), event.step, event.metrics));
    } else if (event.event === 'sample') {
      const { v: _, run: __, time: ___, event: ____, ...sample } = event;
      samples.append(sample);
      const shown = sample.traces[0];
      if (shown !== undefined && board.length() > 0) {
        board.appendBytes(
          textRecord(seconds(event), event.step, 'sample', `${sample.question}\n\n${shown.text}`),
        );
      }
    }
  };
}

/** Gives every event its version, run and time, and hands it to each sink in turn. */
export function emitter(run: string | null, sinks: readonly EventSink[]): (body: EventBody) => void {
  return (body) => {
    const { event: kind, ...rest } = body;
    const event = { v: 1, event: kind, run, time: new Date().toISOString(), ...rest } as RunEvent;
    for (const sink of sinks) sink(event);
  };
}
