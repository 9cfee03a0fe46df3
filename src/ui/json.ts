/** The reporter of `--json`: every event a line on stdout, and nothing else there. */

import type { Reporter, Terminal } from './reporter.js';

/** One JSON object a line, progress included. */
export function jsonReporter(terminal: Pick<Terminal, 'out'>): Reporter {
  return {
    event: (event) => terminal.out(`${JSON.stringify(event)}\n`),
    close: () => {},
  };
}
