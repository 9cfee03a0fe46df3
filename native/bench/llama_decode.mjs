/**
 * Greedy decoding of a GGUF file by node-llama-cpp, for `vf bench decode --peer llama`.
 *
 * usage: node llama_decode.mjs FILE.gguf PROMPTS.json NEW_TOKENS THREADS, with VF_PEER_DIR naming a folder that has node-llama-cpp.
 * One JSON line when ready, then for every line on stdin (a batch size) one run over the first prompts and one JSON line: seconds
 * from each sequence's first token to its last, the tokens, and the threads. Everything is left as the package has it but for the
 * threads: its workers spin and this process has a thread of its own, so fewer than THREADS can be faster. The better of 1 and
 * THREADS is taken for each batch size.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [file, promptFile, newTokens, threads] = process.argv.slice(2);
const prompts = JSON.parse(readFileSync(promptFile, 'utf8'));
const require = createRequire(resolve(process.env.VF_PEER_DIR, 'package.json'));
const entry = require.resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry).href);

const say = (fields) => process.stdout.write(`${JSON.stringify(fields)}\n`);
const llama = await getLlama({
  gpu: false,
  build: 'never',
  skipDownload: true,
  logLevel: LlamaLogLevel.disabled,
  maxThreads: Number(threads),
});
const model = await llama.loadModel({ modelPath: file });
const { version } = JSON.parse(readFileSync(resolve(entry, '../../package.json'), 'utf8'));
say({ version: `node-llama-cpp ${version}`, flags: llama.systemInfo });

let open;

/** One context a batch size, made once, with the threads that decode it fastest. */
async function contextFor(batch) {
  if (open?.batch === batch) return open;
  await open?.context.dispose();
  const choices = [...new Set([1, Number(threads)])];
  let best;
  for (const count of choices) {
    const made = await makeContext(batch, count);
    await decode(made.sequences);
    const { seconds } = await decode(made.sequences);
    if (best === undefined || seconds < best.seconds) {
      await best?.context.dispose();
      best = { batch, seconds, ...made };
    } else {
      await made.context.dispose();
    }
  }
  open = best;
  return open;
}

async function makeContext(batch, count) {
  const length = prompts[0].length + Number(newTokens);
  const context = await model.createContext({
    contextSize: length + 8,
    batchSize: Math.max(512, batch * prompts[0].length),
    threads: count,
    sequences: batch,
  });
  const sequences = Array.from({ length: batch }, () => context.getSequence());
  return { context, sequences, threads: count };
}

/** Greedy tokens of the first prompts, and the seconds after each one's first token. */
async function decode(sequences) {
  await Promise.all(sequences.map((sequence) => sequence.clearHistory()));
  const streams = sequences.map((sequence, i) =>
    sequence.evaluate(prompts[i], { temperature: 0, yieldEogToken: true }),
  );
  const first = await Promise.all(streams.map((stream) => stream.next()));
  const tokens = first.map(({ value }) => [value]);
  const start = performance.now();
  await Promise.all(
    streams.map(async (stream, i) => {
      while (tokens[i].length < Number(newTokens)) {
        const { value, done } = await stream.next();
        if (done) break;
        tokens[i].push(value);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await Promise.all(streams.map((stream) => stream.return()));
  return { seconds, tokens };
}

for await (const line of createInterface({ input: process.stdin })) {
  const context = await contextFor(Number(line));
  say({ ...(await decode(context.sequences)), threads: context.threads });
}
process.exit(0);
