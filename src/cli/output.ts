/** Writing to stdout and stderr without dying of a closed pipe, and without piling up what nobody reads. */

let stdoutClosed = false;
let stderrClosed = false;
let outliveStdout = false;

/** Long jobs call this: they go on when their stdout closes, and their output is dropped. */
export function keepRunningWithoutStdout(): void {
  outliveStdout = true;
}

/** Must be called once, before anything is written. */
export function guardPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stdoutClosed = true;
    // The reader has what it wanted: `vf runs list | head -1` ends quietly.
    if (!outliveStdout) process.exit(0);
  });
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stderrClosed = true;
  });
}

/** Data. */
export function writeOut(text: string): void {
  if (!stdoutClosed) process.stdout.write(text);
}

/** Talk. */
export function writeErr(text: string): void {
  if (!stderrClosed) process.stderr.write(text);
}
