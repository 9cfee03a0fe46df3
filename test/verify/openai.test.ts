/** The OpenAI-compatible verifier against a local server: requests, order, retries and what a failure says. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { VfError } from '../../src/errors.js';
import { openServer } from '../../src/verify/openai.js';
import type { VerifierRequest } from '../../src/verify/verifier.js';

type Body = {
  model: string;
  messages: { role: string; content: string }[];
  seed: number;
  max_tokens: number;
};
type Handler = (
  body: Body,
  request: IncomingMessage,
  response: ServerResponse,
) => { status?: number; value: unknown };

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(handler: Handler, models: string[] = ['coder']): Promise<string> {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (data) => {
      text += data;
    });
    request.on('end', () => {
      const listing = request.url === '/v1/models';
      const { status = 200, value } = listing
        ? { value: { data: models.map((id) => ({ id })) } }
        : handler(JSON.parse(text), request, response);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const options = { key: undefined, seed: 1n, temperature: 0.6, maxTokens: 100, pauseMs: 1 };
const requests = (count: number): VerifierRequest[] =>
  Array.from({ length: count }, (_, i) => ({
    question: `q${i}`,
    trace: 't',
    answer: '1',
    prompt: { system: 'check', user: `q${i}` },
    source: { id: '1', question: 'q', answers: [], category: '', file: '', line: 1 },
    occurrence: 3,
    sample: i,
  }));
const reply = (content: string) => ({
  value: { choices: [{ message: { content } }], usage: { prompt_tokens: 10, completion_tokens: 4 } },
});

test('replies come in the order of the requests, each asked with its own repeatable seed', async () => {
  const seeds = new Map<string, number>();
  const address = await serve((body) => {
    assert.equal(body.model, 'coder');
    assert.deepEqual(
      body.messages.map(({ role }) => role),
      ['system', 'user'],
    );
    const { content } = body.messages[1]!;
    if (seeds.has(content)) assert.equal(body.seed, seeds.get(content));
    seeds.set(content, body.seed);
    return reply(`program for ${content}`);
  });
  const verifier = await openServer({ ...options, address });
  const { texts, promptTokens, generatedTokens } = await verifier.ask(requests(20), 1);
  assert.deepEqual(
    texts,
    Array.from({ length: 20 }, (_, i) => `program for q${i}`),
  );
  assert.deepEqual([promptTokens, generatedTokens], [200, 80]);
  assert.equal(new Set(seeds.values()).size, 20);
  await verifier.ask(requests(20), 1);
});

test('a busy server is asked again; a refusal ends at once, with what it said', async () => {
  let calls = 0;
  const address = await serve(() => (++calls < 3 ? { status: 503, value: 'busy' } : reply('done')));
  const verifier = await openServer({ ...options, address });
  assert.deepEqual((await verifier.ask(requests(1), 1)).texts, ['done']);
  assert.equal(calls, 3);
  server!.close();
  let refused = 0;
  const other = await serve(() => {
    refused++;
    return { status: 401, value: { error: 'no key' } };
  });
  await assert.rejects(
    (await openServer({ ...options, address: `${other}#m` })).ask(requests(1), 1),
    (error) => {
      assert.ok(error instanceof VfError);
      assert.equal(error.exitCode, 3);
      assert.match(error.message, /401 .*no key/);
      return true;
    },
  );
  assert.equal(refused, 1);
});

test('the key is sent as a bearer; of several models one must be named', async () => {
  const address = await serve((_, request) => reply(request.headers.authorization ?? 'none'), ['a', 'b']);
  await assert.rejects(openServer({ ...options, address }), /offers a, b/);
  const verifier = await openServer({ ...options, address: `${address}#b`, key: 'secret' });
  assert.deepEqual((await verifier.ask(requests(1), 1)).texts, ['Bearer secret']);
});

test('an address that is none, and a server that is not there', async () => {
  await assert.rejects(openServer({ ...options, address: 'localhost' }), /openai:URL/);
  const address = await serve(() => reply(''));
  server!.close();
  await once(server!, 'close');
  await assert.rejects(openServer({ ...options, address }), /ECONNREFUSED/);
});
