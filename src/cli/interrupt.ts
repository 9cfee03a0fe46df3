/** Ctrl-C in two stages: the first asks the job to finish its step and save, the second leaves now. */

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 143 } as const;
export type StopSignal = keyof typeof EXIT_CODES;

export interface Interrupt {
  /** The first stop signal so far. */
  readonly requested: StopSignal | null;
  /** 130 or 143 once a stop was asked for. */
  readonly exitCode: 130 | 143 | null;
  /** Aborted by the first signal: for waits that may be cut short without loss. */
  readonly signal: AbortSignal;
  /** As if the signal had come (the live screen reads Ctrl-C as a key). */
  stop(signal: StopSignal): void;
  /** Runs before leaving at once: put the terminal back. Synchronous. */
  onLeave(action: () => void): void;
  /** Signals end the process again as they do by default. */
  dispose(): void;
}

export interface InterruptOptions {
  /** Called at the first signal. */
  onFirst: () => void;
  /** Ends the process; `process.exit` outside of tests. */
  exit?: (code: number) => void;
}

/** Starts to listen for SIGINT, SIGTERM and SIGHUP. */
export function listenForInterrupt(options: InterruptOptions): Interrupt {
  const exit = options.exit ?? ((code: number) => process.exit(code));
  const abort = new AbortController();
  const leave: (() => void)[] = [];
  let requested: StopSignal | null = null;
  const stop = (signal: StopSignal) => {
    if (requested !== null) {
      for (const action of leave) action();
      exit(EXIT_CODES[signal]);
      return;
    }
    requested = signal;
    options.onFirst();
    abort.abort();
  };
  const signals = Object.keys(EXIT_CODES) as StopSignal[];
  for (const signal of signals) process.on(signal, stop);
  return {
    get requested() {
      return requested;
    },
    get exitCode() {
      return requested === null ? null : EXIT_CODES[requested];
    },
    signal: abort.signal,
    stop,
    onLeave: (action) => leave.push(action),
    dispose: () => {
      for (const signal of signals) process.off(signal, stop);
    },
  };
}
