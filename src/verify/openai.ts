/** A verifier behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama, …): the one place of verify that opens the network. */

import { invalidValue, VfError } from '../errors.js';
import { keyOf, PURPOSE, philox, streamWord } from '../random.js';
import type { Verifier, VerifierRequest } from './verifier.js';

export interface ServerOptions {
  /** `http://host:port/v1`, with `#model` behind it when the server has several. */
  address: string;
  /** Bearer key; undefined sends none. */
  key: string | undefined;
  seed: bigint;
  temperature: number;
  maxTokens: number;
  /** Requests in flight; 8 by default. */
  parallel?: number;
  /** Milliseconds for one reply; two minutes by default. */
  timeoutMs?: number;
  /** Milliseconds before the second try, doubled for the third; 500 by default. */
  pauseMs?: number;
}

const TRIES = 3;
/** Answers that another try may mend. */
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

interface Reply {
  choices?: { message?: { content?: string | null } }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number };
}

/**
 * Connects to a server; asks it for its models when the address names none.
 * Its replies are only as repeatable as the server makes them: each request carries a seed of its own.
 * @throws VfError VF_VERIFIER (exit code 3) when the server can't be reached or refuses.
 */
export async function openServer(options: ServerOptions): Promise<Verifier> {
  const { url, named } = readAddress(options.address);
  const model = named ?? (await onlyModel(url, options));
  const ask = (request: VerifierRequest, step: number) =>
    call<Reply>(`${url}/chat/completions`, options, {
      model,
      messages: [
        { role: 'system', content: request.prompt.system },
        { role: 'user', content: request.prompt.user },
      ],
      temperature: options.temperature,
      max_tokens: options.maxTokens,
      seed: seedOf(options.seed, request, step),
    });
  return {
    name: `${model} at ${url}`,
    parameters: 0,
    async ask(requests, step) {
      const started = performance.now();
      const replies = await inParallel(requests, options.parallel ?? 8, (request) => ask(request, step));
      const total = (of: (reply: Reply) => number | undefined) =>
        replies.reduce((sum, reply) => sum + (of(reply) ?? 0), 0);
      return {
        texts: replies.map((reply) => reply.choices?.[0]?.message?.content ?? ''),
        promptTokens: total((reply) => reply.usage?.prompt_tokens),
        generatedTokens: total((reply) => reply.usage?.completion_tokens),
        seconds: (performance.now() - started) / 1000,
      };
    },
    close: async () => undefined,
  };
}

function readAddress(address: string): { url: string; named: string | null } {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw badAddress(address);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw badAddress(address);
  const named = url.hash === '' ? null : decodeURIComponent(url.hash.slice(1));
  return { url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, named };
}

function badAddress(address: string): VfError {
  return invalidValue('--verifier', 'openai:URL with an http or https address', `openai:${address}`, {
    hint: 'for example --verifier openai:http://localhost:8000/v1, with #MODEL behind it to choose a model',
  });
}

async function onlyModel(url: string, options: ServerOptions): Promise<string> {
  const { data } = await call<{ data?: { id?: string }[] }>(`${url}/models`, options, null);
  const names = (data ?? []).flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (names.length === 1) return names[0]!;
  throw new VfError(
    'VF_VERIFIER',
    `Expected one model at ${url} but it offers ${names.join(', ') || 'none'}`,
    {
      hint: `name one: --verifier openai:${url}#${names[0] ?? 'MODEL'}`,
    },
  );
}

/** One request with its tries. `body` null is a GET. */
async function call<T>(url: string, options: ServerOptions, body: unknown): Promise<T> {
  let why = '';
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (attempt > 0) await pause((options.pauseMs ?? 500) * 2 ** (attempt - 1));
    try {
      const response = await fetch(url, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          'content-type': 'application/json',
          ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
        },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(options.timeoutMs ?? 120_000),
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text) as T;
      why = `${response.status} ${text.slice(0, 200)}`;
      if (!PASSING.has(response.status)) break;
    } catch (error) {
      const { message, cause } = error as Error;
      why = cause instanceof Error ? `${message}: ${cause.message}` : message;
    }
  }
  throw new VfError('VF_VERIFIER', `Expected a reply of the verifier at ${url} but received: ${why}`, {
    exitCode: 3,
    hint: 'is the server running, and is a key needed (OPENAI_API_KEY)?',
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** 31 bits of the verifier's stream at (step, occurrence, sample). */
function seedOf(seed: bigint, { occurrence, sample }: VerifierRequest, step: number): number {
  const words = new Uint32Array(4);
  philox(keyOf(seed), 0, sample, occurrence, streamWord(PURPOSE.verifier, step), words);
  return words[0]! >>> 1;
}

/** Results in the order of `items`, at most `width` at work; the first failure ends all. */
async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
