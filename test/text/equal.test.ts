/** The judge on pairs of answers, group by group, and the equivalence of its keys. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonical, equal } from '../../src/text/equal.js';

interface Pair {
  gold: string;
  prediction: string;
  same: boolean;
}

function pairsByGroup(): Map<string, Pair[]> {
  const groups = new Map<string, Pair[]>();
  let group: Pair[] = [];
  for (const line of readFileSync(new URL('pairs.txt', import.meta.url), 'utf8')
    .split('\n')
    .slice(1)) {
    if (line.startsWith('# ')) {
      group = groups.get(line.slice(2)) ?? [];
      groups.set(line.slice(2), group);
    } else if (line !== '') {
      const [gold, prediction] = line.slice(2).split(' ||| ') as [string, string];
      group.push({ gold, prediction, same: line.startsWith('T') });
    }
  }
  return groups;
}

for (const [name, pairs] of pairsByGroup()) {
  test(`answers of the group ${name} are judged by meaning`, () => {
    for (const { gold, prediction, same } of pairs) {
      assert.equal(equal(gold, prediction), same, `${gold} ||| ${prediction}`);
    }
  });
}

test('one key stands for every spelling of a value', () => {
  const spellings: Record<string, string[]> = {
    '0.5': ['1/2', '0.5', '\\frac{1}{2}', '2/4', '.5', '50\\%', 'x = \\frac12', '\\boxed{0.50}', '½'],
    '25': ['025', '25', '25.0', '25.', '$25$', '\\text{25}', '25\\text{ cm}', 'n=25', '2.5e1'],
    '142': ['142.0', '142'],
    '3': ['\\log_2 8', '2.9999999999999996', '3', '\\sqrt{9}', '\\{3\\}'],
    '-1': ['e^{i\\pi}', 'i^2', '-1.0'],
    '1.414214': ['\\sqrt2', '2^{1/2}', '1.41421356'],
    '3.6e-10': ['0.00000000036', '3.6\\times 10^{-10}', '3.6e-10'],
    '{1,2}': ['1,2', '2, 1', '\\{1,2\\}', 'x=1\\text{ or }x=2'],
    '(1,2)': ['(1,2)', '1<x<2', 'x\\in(1,2)', '\\langle 1,2\\rangle'],
    inf: ['\\infty', '+\\infty', '∞'],
    'text:5:30': ['5:30'],
    'text:east': ['\\text{east}', 'East'],
  };
  for (const [key, answers] of Object.entries(spellings)) {
    for (const answer of answers) assert.equal(canonical(answer), key, answer);
  }
});

test('integers have all their digits in the key', () => {
  assert.equal(canonical('2^{64}'), '18446744073709551616');
  assert.equal(canonical('12,345,678,901,234,567,891'), '12345678901234567891');
  assert.notEqual(canonical('100!'), canonical('100!+1'));
});

test('other numbers are rounded to 6 decimals, small ones to 7 digits, large irrational ones to 12', () => {
  assert.equal(canonical('\\frac{1}{3}'), '0.333333');
  assert.equal(canonical('\\frac{2}{3}'), '0.666667');
  assert.equal(canonical('\\frac{1}{7000}'), '1.428571e-4');
  assert.equal(canonical('\\frac{10^{13}}{3}'), '3333333333333.333333');
  assert.equal(canonical('10^6\\sqrt2'), '1414213.56237');
});

test('absent, undefined and unreadable answers have no key and equal nothing, not even themselves', () => {
  const none = [
    '',
    ' ',
    '\\boxed{}',
    '\\boxed{5',
    '\\frac{1}{0}',
    '\\frac{0}{0}',
    '\\tan\\frac{\\pi}{2}',
    '\\frac{1}{2',
    '{5',
    '5}',
    '.',
    '$$',
  ];
  for (const answer of none) {
    assert.equal(canonical(answer), null, answer);
    assert.equal(equal(answer, answer), false, answer);
    assert.equal(equal('5', answer), false, answer);
  }
});

test('units are dropped after a number only, never to nothing', () => {
  assert.equal(canonical('12 \\mathrm{~cm}'), '12');
  assert.equal(canonical('\\text{cm}'), 'text:cm');
  assert.equal(canonical('\\text{east}'), 'text:east');
});

test('two assignments keep their names, one assignment is its value', () => {
  assert.equal(equal('x=5', 'y=5'), false);
  assert.equal(equal('5', 'y=5'), true);
  assert.equal(canonical('x=5'), canonical('y=5'));
});

test('a predicted interval answers a gold inequality but not the other way round, unless asked', () => {
  assert.equal(equal('0<x<1', '(0,1)'), true);
  assert.equal(equal('(0,1)', '0<x<1'), false);
  assert.equal(equal('(0,1)', '0<x<1', { symmetric: true }), true);
});

test('full-width digits, composed and decomposed letters and thin spaces are one spelling', () => {
  assert.equal(equal('12', '１２'), true);
  assert.equal(equal('caf\u00e9', 'cafe\u0301'), true);
  assert.equal(equal('45210', '45\u2009210'), true);
});

test('towers are compared by structure', () => {
  assert.equal(equal('10^{10^{10}}', '10^{10000000000}'), true);
  assert.equal(equal('10^{10^{10}}', '10^{10^{11}}'), false);
});
