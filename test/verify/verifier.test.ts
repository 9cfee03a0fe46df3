/** What a verifier is asked: its prompt in each form, and which traces of a step it sees. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TEMPLATES } from '../../src/text/template.js';
import type { Tokenizer } from '../../src/text/tokenizer.js';
import { traceChecker } from '../../src/verify/checker.js';
import { type Check, type Tool, verdictOf } from '../../src/verify/tool.js';
import {
  type PromptForm,
  statedTexts,
  type Verifier,
  type VerifierRequest,
  verifierParts,
} from '../../src/verify/verifier.js';

const source = { id: '1', question: '3+4*2=?', answers: [], category: '', file: '', line: 1 };
const request: VerifierRequest = {
  question: '3+4*2=?',
  trace: '4*2=8, 3+8=11. \\boxed{11}',
  answer: '11',
  prompt: { system: 'Check it.', user: 'Question: 3+4*2=?' },
  source,
  occurrence: 0,
  sample: 0,
};
const tokenizer = (chatTemplate?: string) =>
  ({ chatTemplate, bosText: '', eosText: '', folder: '' }) as unknown as Tokenizer;
const form = (changes: Partial<PromptForm> = {}): PromptForm => ({
  tokenizer: tokenizer(),
  template: TEMPLATES.verifree,
  texts: null,
  showAnswer: false,
  ...changes,
});

test('a model with texts of its own for the job gets question and trace, the answer hidden unless shown', () => {
  const texts = statedTexts({ verifier: { before: '<|im_start|>', between: ' Trace: ', after: ' Python:' } });
  const parts = [
    { literal: '<|im_start|>' },
    { data: '3+4*2=?' },
    { literal: ' Trace: ' },
    { data: '4*2=8, 3+8=11.' },
    { literal: ' Python:' },
  ];
  assert.deepEqual(verifierParts(request, form({ texts })), parts);
  const shown = verifierParts(request, form({ texts, showAnswer: true }));
  assert.deepEqual(shown[3], { data: '4*2=8, 3+8=11. \\boxed{11}' });
});

test('a chat model gets order and request as one user turn, other models in their training template without its instruction', () => {
  const chat =
    '{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|bot|>{% endif %}';
  const data = { data: 'Check it.\n\nQuestion: 3+4*2=?' };
  assert.deepEqual(verifierParts(request, form({ tokenizer: tokenizer(chat) })), [
    { literal: '<|user|>' },
    data,
    { literal: '<|end|><|bot|>' },
  ]);
  assert.deepEqual(verifierParts(request, form()), [
    { literal: '<|im_start|>user\n' },
    data,
    { literal: '<|im_end|>\n<|im_start|>assistant\n' },
  ]);
});

test('a vf.json without verifier texts states none; half of them is an error', () => {
  assert.equal(statedTexts({ template: 'tiny' }), null);
  assert.throws(() => statedTexts({ verifier: { before: 'a', after: 'b' } }), /"between"/);
});

test('only traces with an answer are checked, each with its own reply, and verdicts come back in place', async () => {
  const asked: VerifierRequest[] = [];
  const verifier: Verifier = {
    name: 'test',
    parameters: 12,
    ask: async (requests) => {
      asked.push(...requests);
      return {
        texts: requests.map(({ occurrence, sample }) => `${occurrence}/${sample}`),
        promptTokens: 1,
        generatedTokens: 2,
        seconds: 0,
      };
    },
    close: async () => undefined,
  };
  const seen: Check[] = [];
  const tool = (needsVerifier: boolean): Tool => ({
    name: 'python',
    needsVerifier,
    prompt: ({ question }) => ({ system: 's', user: question }),
    check: async (checks) => {
      seen.push(...checks);
      return checks.map(({ answer }) => verdictOf(answer === '11' ? 'verified' : 'refuted'));
    },
    close: async () => undefined,
  });
  const trace = { ids: new Int32Array(0), logprobs: new Float32Array(0), finish: 'eos' as const, text: 't' };
  const group = (occurrence: number) => ({
    question: source,
    occurrence,
    promptIds: new Int32Array(0),
    patches: [],
    traces: [0, 1].map(() => ({ ...trace, answerLogprobs: [] })),
  });
  const none = { text: null, key: null };
  const answers = [
    [none, { text: '11', key: '11' }],
    [{ text: '14', key: '14' }, none],
  ];
  const groups = [group(7), group(8)];
  const { verdicts, replies } = await traceChecker(tool(true), verifier).check(groups, answers, 1);
  assert.deepEqual(
    verdicts.map((own) => own.map(({ reason }) => reason)),
    [
      ['no answer', 'verified'],
      ['refuted', 'no answer'],
    ],
  );
  assert.deepEqual(
    seen.map(({ reply }) => reply),
    ['7/1', '8/0'],
  );
  assert.equal(replies?.generatedTokens, 2);
  const without = await traceChecker(tool(false), verifier).check(groups, answers, 1);
  assert.equal(without.replies, null);
  assert.equal(asked.length, 2, 'a tool that needs no verifier asks none');
});
