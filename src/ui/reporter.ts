/** Reporter: consumes a run's events and shows them to a person or a program. */

import type { RunEvent } from '../run/events.js';
import { jsonReporter } from './json.js';
import { plainReporter } from './plain.js';

export interface Reporter {
  event(event: RunEvent): void;
  /** Ends timers and gives the terminal back. */
  close(): void | Promise<void>;
}

/** Where a reporter may write. `out` is data, `err` talk. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Whether each is a terminal that understands cursor movement. */
  outIsTty: boolean;
  errIsTty: boolean;
  columns: number;
}

export type ReporterKind = 'json' | 'plain' | 'live';

/** JSON when asked; the live screen on a capable terminal that nobody else reads; plain lines otherwise. */
export function reporterKind(
  options: { json: boolean; plain: boolean },
  terminal: Pick<Terminal, 'outIsTty'>,
  env: Readonly<Record<string, string | undefined>>,
): ReporterKind {
  if (options.json) return 'json';
  const inCi = env.CI !== undefined && env.CI !== '' && env.CI !== 'false' && env.CI !== '0';
  return options.plain || !terminal.outIsTty || inCi || env.TERM === 'dumb' ? 'plain' : 'live';
}

/** Opens a reporter. `stop` is called for Ctrl-C where the live screen holds the keyboard. */
export async function openReporter(
  kind: ReporterKind,
  terminal: Terminal,
  stop: () => void,
): Promise<Reporter> {
  if (kind === 'json') return jsonReporter(terminal);
  if (kind === 'plain') return plainReporter(terminal);
  const { liveReporter } = await import('./ink/app.js');
  return liveReporter(terminal, stop);
}
