/** Terminal text: nothing acts, everything has its true width. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut, oneLine, pad, visible, width, wrap } from '../../src/ui/text.js';

test('escape sequences, backspaces and carriage returns become visible marks', () => {
  assert.equal(visible('\u001b]0;x\u0007\u001b[2Ja\rb\bc'), '␛]0;x␇␛[2Ja␍b␈c');
  assert.equal(visible('\u009b31m\u007f'), '\\u{9b}31m␡');
  assert.equal(visible('left\u202eright\u200e'), 'left\\u{202e}right\\u{200e}');
  assert.equal(visible('tab\tand\nbreak stay'), 'tab\tand\nbreak stay');
  assert.equal(oneLine('a\n\tb'), 'a⏎ b');
});

test('width counts graphemes as terminals do', () => {
  const cases: [string, number][] = [
    ['abc', 3],
    ['漢字', 4],
    ['한국', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['👍🏽', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['∞–', 2],
    ['ｆｕｌｌ', 8],
    ['\u200b', 0],
    ['', 0],
  ];
  for (const [text, columns] of cases) assert.equal(width(text), columns, JSON.stringify(text));
});

test('a cut keeps whole graphemes and ends in an ellipsis', () => {
  assert.equal(cut('abcdef', 6), 'abcdef');
  assert.equal(cut('abcdef', 5), 'abcd…');
  assert.equal(cut('漢字漢字', 5), '漢字…');
  assert.equal(cut('漢字漢字', 4), '漢…');
  assert.equal(cut('👩‍👩‍👧👩‍👩‍👧', 3), '👩‍👩‍👧…');
  assert.equal(cut('ab', 0), '');
  for (let columns = 1; columns < 12; columns++)
    assert.ok(width(cut('a漢e\u0301👍🏽bc', columns)) <= columns);
});

test('padding aligns by width', () => {
  assert.equal(pad('漢', 4), '漢  ');
  assert.equal(pad('漢', 4, 'right'), '  漢');
  assert.equal(pad('long', 2), 'long');
});

test('wrapping breaks at spaces, and long words where they must', () => {
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrap('abcdefgh', 3), ['abc', 'def', 'gh']);
  assert.deepEqual(wrap('a\n\nb', 10), ['a', '', 'b']);
  assert.deepEqual(wrap('漢字漢字', 5), ['漢字', '漢字']);
  for (const line of wrap('some 漢字 words of several kinds 👍🏽👍🏽👍🏽 together', 9))
    assert.ok(width(line) <= 9);
});
