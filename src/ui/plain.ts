/** The reporter for pipes, logs and CI: a line a step, and never a long silence. */

import type { RunEvent } from '../run/events.js';
import { stepHeading, stepLine } from './columns.js';
import { clock } from './format.js';
import { INITIAL_STATE, reduce, totalSteps, type UiState } from './ink/state.js';
import { bannerLines, endLines, evalLines, progressLine, signalLines } from './lines.js';
import type { Reporter, Terminal } from './reporter.js';
import { oneLine } from './text.js';

const HEADING_EVERY = 20;
/** A job that has shown nothing for this long says what it is doing. */
const HEARTBEAT_MS = 30_000;
/** Progress is shown once a phase has lasted this long. */
const PATIENCE_MS = 500;
const TICK_MS = 250;

/** Steps, evaluations and the summary go to stdout, everything else to stderr. `now` in milliseconds. */
export function plainReporter(terminal: Terminal, now: () => number = Date.now): Reporter {
  let state = INITIAL_STATE;
  let sinceHeading = HEADING_EVERY;
  let lastLine = now();
  let phaseSince = now();
  const announced = new Set<string>();
  const status = statusLine(terminal);
  const say = (write: (text: string) => void, lines: readonly string[]) => {
    if (lines.length === 0) return;
    status.clear();
    write(lines.map((line) => `${line}\n`).join(''));
    lastLine = now();
  };
  const tick = () => {
    const line = progressLine(state);
    if (line !== null && now() - phaseSince >= PATIENCE_MS) {
      const { phase } = state.progress!;
      if (terminal.errIsTty) status.show(line);
      else if (!announced.has(phase)) say(terminal.err, [line]);
      announced.add(phase);
    }
    if (now() - lastLine >= HEARTBEAT_MS) say(terminal.err, [heartbeat(state, now() - lastLine)]);
  };
  const timer = setInterval(tick, TICK_MS);
  timer.unref();
  return {
    event: (event) => {
      const phase = state.progress?.phase;
      state = reduce(state, event);
      if (state.progress?.phase !== phase) phaseSince = now();
      if (event.event === 'step' && event.step === 0) {
        say(terminal.out, signalLines(event.metrics));
      } else if (event.event === 'step') {
        const heading = sinceHeading >= HEADING_EVERY ? [stepHeading(event.metrics)] : [];
        sinceHeading = heading.length > 0 ? 1 : sinceHeading + 1;
        say(terminal.out, [...heading, stepLine(event.step, event.metrics, state)]);
      } else if (event.event === 'warning') {
        if (state.warnings[event.code]!.times === 1)
          say(terminal.err, [`warning: ${oneLine(event.message)}`]);
      } else {
        say(terminal.out, linesOf(event, state));
      }
    },
    close: () => {
      clearInterval(timer);
      status.clear();
    },
  };
}

function linesOf(event: RunEvent, state: UiState): string[] {
  if (event.event === 'start') return [...bannerLines(state), ''];
  if (event.event === 'eval') return evalLines(state);
  return event.event === 'end' ? endLines(state) : [];
}

function heartbeat(state: UiState, silentMs: number): string {
  const last = state.steps.at(-1);
  const total = totalSteps(state);
  const where =
    last === undefined
      ? 'before the first step'
      : `after step ${last.step}${total === null ? '' : ` of ${total}`}`;
  const doing = progressLine(state) ?? 'working';
  return `… ${doing}, ${where}, ${clock(silentMs / 1000)} since the last line`;
}

/** One line on stderr that is written over, on a terminal only. */
function statusLine(terminal: Terminal): { show(line: string): void; clear(): void } {
  let shown = '';
  return {
    show: (line) => {
      if (line === shown) return;
      terminal.err(`\r\u001b[K${line.slice(0, terminal.columns - 1)}`);
      shown = line;
    },
    clear: () => {
      if (shown !== '') terminal.err('\r\u001b[K');
      shown = '';
    },
  };
}
