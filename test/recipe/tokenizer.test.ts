/** The trained vocabularies: what a reader of tokenizer.json makes of them, and where the border may be cut. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tokenizer } from 'tokenizers';
import { byteCharacters, trainBpe } from '../../src/recipe/bpe.js';
import { RECIPES, recipeByName } from '../../src/recipe/recipes.js';
import { tokenizerFiles } from '../../src/recipe/tokenizer-files.js';
import { scratch } from '../scratch.js';

function load(files: Record<string, string>): Tokenizer {
  const folder = scratch('bpe');
  const file = join(folder, 'tokenizer.json');
  writeFileSync(file, files['tokenizer.json']!);
  const tokenizer = Tokenizer.fromFile(file);
  return tokenizer;
}

test('merges go by count, then by code order, and stop at the least count', () => {
  const { merges, tokens } = trainBpe(['ab ab ab', 'cd cd'], { size: 300, minCount: 2 });
  assert.deepEqual(merges, [
    ['a', 'b'],
    ['c', 'd'],
    ['Ġ', 'ab'],
  ]);
  assert.equal(tokens.length, 259);
  assert.deepEqual(tokens.slice(256), ['ab', 'cd', 'Ġab']);
});

test('every byte has its own character', () => {
  const characters = byteCharacters();
  assert.equal(new Set(characters).size, 256);
  assert.equal(characters[0x20], 'Ġ');
  assert.equal(characters[0x0a], 'Ċ');
  assert.equal(characters[0x41], 'A');
});

for (const name of ['tiny', 'tiny-t3rl']) {
  test(`${name}: text of any kind survives encoding and decoding`, async () => {
    const tokenizer = load(tokenizerFiles(recipeByName(name).vocabulary()));
    for (const text of ['Ann has 7 pens.\nSo 12.', 'naïve 漢字 🙂\r\n\t x', "it's IT'S 100%"]) {
      const ids = (await tokenizer.encode(text)).getIds();
      assert.equal(await tokenizer.decode(ids, false), text);
    }
  });
}

test('tiny: a warm-up row costs few tokens and its template is two special ones', async () => {
  const vocabulary = recipeByName('tiny').vocabulary();
  const tokenizer = load(tokenizerFiles(vocabulary));
  const tokens = async (text: string): Promise<string[]> => (await tokenizer.encode(text)).getTokens();
  assert.deepEqual(await tokens('<|im_start|>Ann has 37 pens.<|im_end|>'), [
    '<|im_start|>',
    'Ann',
    'Ġhas',
    'Ġ',
    '3',
    '7',
    'Ġpens',
    '.',
    '<|im_end|>',
  ]);
  assert.deepEqual(await tokens(' So 42.\n<answer> \\boxed{42} </answer><|endoftext|>'), [
    'ĠSo',
    'Ġ',
    '4',
    '2',
    '.Ċ',
    '<answer',
    '>',
    'Ġ\\',
    'boxed',
    '{',
    '4',
    '2',
    '}',
    'Ġ</',
    'answer',
    '>',
    '<|endoftext|>',
  ]);
  assert.ok(vocabulary.tokens.length <= 640);
});

test('no token of a bundled vocabulary spans the end of the border', () => {
  for (const recipe of RECIPES) {
    for (const token of recipe.vocabulary().tokens) {
      const cut = token.indexOf('>');
      const before = cut > 0 ? token.slice(0, cut) : '';
      const spans = before !== '' && ('<answer'.endsWith(before) || before.endsWith('<answer'));
      assert.ok(!spans, `${recipe.name}: ${token}`);
    }
  }
});
