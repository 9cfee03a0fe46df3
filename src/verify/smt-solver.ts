/** z3 in a thread that can be killed: limited by its own count of work, with the wall clock as a backstop. */

import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

export interface SolverOptions {
  /** z3's resource limit for each query: the same script gives up at the same point on every machine. */
  rlimit?: number | undefined;
  /** Wall milliseconds for one call, a backstop. */
  wallMs?: number | undefined;
}

export type SolverResult = { end: 'done'; outputs: string[] } | { end: 'wall' | 'failed'; detail: string };

export interface Solver {
  /** Run scripts, one after another, each in a fresh context. Calls queue up. Never rejects. */
  run(scripts: readonly string[]): Promise<SolverResult>;
  close(): Promise<void>;
}

/** Far more than any puzzle of people needs, about a second of a hard one. */
const defaultRlimit = 300_000;
const defaultWallMs = 60_000;
/** Loading z3 takes a quarter of a second on a quiet machine. */
const startWallMs = 120_000;

/**
 * The thread's own script, as text: it is the same whether this module runs as TypeScript or from the package, and z3's
 * own threads load no TypeScript loader. Each script gets a context of its own. The package's eval_smtlib2_string hands
 * the text to another thread in memory that is free again by then (a slow machine gets errors at random places), so
 * the text is copied to memory of its own and z3 is called in this thread, which can be killed.
 */
const threadScript = `
const { parentPort, workerData } = require('node:worker_threads');
require(workerData.z3).init().then(({ em, Z3 }) => {
  const evaluate = (context, script) => {
    const bytes = Buffer.from(script + '\\0');
    const address = em._malloc(bytes.length);
    new Uint8Array(em.HEAPU32.buffer, address, bytes.length).set(bytes);
    const output = em.UTF8ToString(em._Z3_eval_smtlib2_string(context, address));
    em._free(address);
    return output;
  };
  parentPort.on('message', (scripts) => {
    parentPort.postMessage(scripts.map((script) => {
      const config = Z3.mk_config();
      const context = Z3.mk_context(config);
      Z3.del_config(config);
      const output = evaluate(context, script);
      Z3.del_context(context);
      return output;
    }));
  });
  parentPort.postMessage([]);
});
`;
const z3 = createRequire(import.meta.url).resolve('z3-solver');

/** Make a solver; its thread starts with the first call, and again after it had to be killed. Unclosed, it keeps Node alive. */
export function openSolver(options: SolverOptions = {}): Solver {
  const head = `(set-option :rlimit ${options.rlimit ?? defaultRlimit})\n`;
  const wallMs = options.wallMs ?? defaultWallMs;
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const kill = async (): Promise<void> => {
    const old = worker;
    worker = undefined;
    await old?.terminate();
  };
  const runOne = async (scripts: readonly string[]): Promise<SolverResult> => {
    if (closed) return { end: 'failed', detail: 'the solver is closed' };
    if (worker === undefined) {
      const thread = startThread();
      thread.once('exit', () => {
        if (worker === thread) worker = undefined;
      });
      worker = thread;
      const start = await answerOf(worker, startWallMs);
      if (start.end !== 'done') {
        await kill();
        return { end: 'failed', detail: `z3 did not start: ${start.detail}` };
      }
    }
    const answer = answerOf(worker, wallMs);
    worker.postMessage(scripts.map((script) => head + script));
    const result = await answer;
    if (result.end !== 'done') await kill();
    return result;
  };
  return {
    run(scripts) {
      const result = last.then(() => runOne(scripts));
      last = result;
      return result;
    },
    async close() {
      closed = true;
      await kill();
      await last;
    },
  };
}

function startThread(): Worker {
  // What z3 prints by itself stays out of our stdout.
  const options = { eval: true, execArgv: [], workerData: { z3 }, stdout: true, stderr: true };
  const thread = new Worker(threadScript, options);
  // An error always ends the thread; its exit is what is waited for.
  thread.on('error', () => undefined);
  return thread;
}

/** The thread's next message, or why there is none. */
function answerOf(worker: Worker, wallMs: number): Promise<SolverResult> {
  return new Promise((resolve) => {
    const finish = (result: SolverResult): void => {
      clearTimeout(wall);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      resolve(result);
    };
    const onMessage = (outputs: string[]): void => finish({ end: 'done', outputs });
    const onError = (error: Error): void => finish({ end: 'failed', detail: error.message });
    const onExit = (): void => finish({ end: 'failed', detail: 'the solver stopped' });
    const wall = setTimeout(() => finish({ end: 'wall', detail: `no answer in ${wallMs} ms` }), wallMs);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}
