/** The live screen: finished lines scroll away above, the frame below is drawn again; the only file that knows Ink. */

import { Box, render, Static, Text, useInput, useStdin } from 'ink';
import type { ReactElement } from 'react';
import type { RunEvent } from '../../run/events.js';
import { bannerLines, endLines, evalLines } from '../lines.js';
import type { Reporter, Terminal } from '../reporter.js';
import { oneLine } from '../text.js';
import { type FrameLine, frameLines } from './frame.js';
import { INITIAL_STATE, reduce, type UiState } from './state.js';

/** Redraws a second at most: a run makes far more events. */
const REDRAW_MS = 100;

interface ScreenProps {
  /** Lines that are done: written once, never redrawn. */
  finished: readonly { key: number; text: string }[];
  frame: readonly FrameLine[];
  stop: () => void;
}

/** One picture of the screen. */
export function Screen({ finished, frame, stop }: ScreenProps): ReactElement {
  const { isRawModeSupported } = useStdin();
  // `undefined` would mean active to Ink, and raw mode throws where stdin is no terminal.
  useInput((input, key) => key.ctrl && input === 'c' && stop(), { isActive: isRawModeSupported === true });
  return (
    <>
      <Static items={[...finished]}>
        {(line) => <Text key={line.key}>{line.text === '' ? ' ' : line.text}</Text>}
      </Static>
      <Box flexDirection="column">
        {frame.map((line, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a frame's lines are told apart by their row alone
          <Text key={row} bold={line.tone === 'bold'} dimColor={line.tone === 'dim'}>
            {line.text === '' ? ' ' : line.text}
          </Text>
        ))}
      </Box>
    </>
  );
}

/** Lines that an event adds for good above the frame. */
export function finishedLines(event: RunEvent, state: UiState): string[] {
  if (event.event === 'start') return [...bannerLines(state), ''];
  if (event.event === 'eval') return evalLines(state);
  if (event.event === 'checkpoint') return [`saved           ${event.path}`];
  if (event.event === 'warning' && state.warnings[event.code]!.times === 1) {
    return [`warning: ${oneLine(event.message)}`];
  }
  return event.event === 'end' ? endLines(state) : [];
}

/** The reporter of a terminal. `stop` is called for Ctrl-C, which Ink reads as a key. */
export function liveReporter(terminal: Terminal, stop: () => void): Reporter {
  let state = INITIAL_STATE;
  let finished: { key: number; text: string }[] = [];
  let timer: NodeJS.Timeout | null = null;
  const picture = () => (
    <Screen
      finished={finished}
      frame={frameLines(state, process.stdout.columns ?? terminal.columns)}
      stop={stop}
    />
  );
  const app = render(picture(), { exitOnCtrlC: false, patchConsole: false });
  const draw = () => {
    timer = null;
    app.rerender(picture());
  };
  // Clocks and phases move even while no event comes.
  const pulse = setInterval(draw, 1000);
  pulse.unref();
  return {
    event: (event) => {
      state = reduce(state, event);
      const lines = finishedLines(event, state).map((text, i) => ({ key: finished.length + i, text }));
      if (lines.length > 0) finished = [...finished, ...lines];
      timer ??= setTimeout(draw, REDRAW_MS);
    },
    close: () => {
      clearInterval(pulse);
      if (timer !== null) clearTimeout(timer);
      app.rerender(picture());
      app.unmount();
    },
  };
}
