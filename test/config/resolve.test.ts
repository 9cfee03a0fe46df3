/** Settings: precedence, origins, and problems reported together with their places. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PRESETS } from '../../src/config/presets.js';
import { ConfigError } from '../../src/config/problems.js';
import { type ConfigInput, resolveConfig } from '../../src/config/resolve.js';
import { COMMAND_OPTIONS } from '../../src/config/schema.js';
import { VfError } from '../../src/errors.js';
import { scratch } from '../scratch.js';

const folder = scratch('config');

function yaml(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

function train(flags: ConfigInput['flags'], env: ConfigInput['env'] = {}, stored?: Record<string, unknown>) {
  return resolveConfig('train', { flags, env, stored });
}

function problems(run: () => unknown): readonly VfError[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    if (error instanceof VfError) return [error];
    throw error;
  }
  return [];
}

test('with nothing given, vf train takes the tiny preset', () => {
  const { settings, origins, preset } = train({});
  assert.equal(preset, 'tiny');
  assert.equal(settings.promptsPerStep, 16);
  assert.equal(settings.groupSize, 8);
  assert.equal(origins['max-tokens'], 'preset tiny');
  assert.equal(origins.seed, 'default');
});

test('a given model takes no implied preset', () => {
  const { settings, preset } = train({ model: 'm' });
  assert.equal(preset, null);
  assert.equal(settings.maxTokens, 3000);
  assert.equal(settings.lr, 1e-6);
});

test('flags win over VF_*, VF_* over the file, the file over the preset, the preset over defaults', () => {
  const file = yaml('order.yaml', 'preset: verifree-1.7b\nmodel: m\ndata: d\nlr: 2e-6\nsteps: 7\nseed: 3\n');
  const { settings, origins } = train({ config: file, seed: '9' }, { VF_SEED: '8', VF_STEPS: '11' });
  assert.deepEqual(
    [settings.seed, settings.steps, settings.lr, settings.saveEvery, settings.threads],
    [9, 11, 2e-6, 128, 0],
  );
  assert.deepEqual(
    ['seed', 'steps', 'lr', 'save-every', 'threads'].map((name) => origins[name]),
    ['--seed', 'VF_STEPS', `${file}:4`, 'preset verifree-1.7b', 'default'],
  );
});

test('an unknown key names its line and the nearest key', () => {
  const file = yaml('typo.yaml', 'model: m\n\nprompts-per-stp: 4\n');
  const [problem, ...rest] = problems(() => train({ config: file }));
  assert.equal(rest.length, 0);
  assert.equal(problem!.message, `unknown key "prompts-per-stp" in ${file}`);
  assert.equal(problem!.hint, 'did you mean "prompts-per-step"?');
  assert.deepEqual(problem!.place, { file, line: 3, column: 1, text: 'prompts-per-stp: 4' });
  assert.equal(problem!.exitCode, 2);
});

test("another command's key is named as such", () => {
  const file = yaml('other.yaml', 'votes: 64\n');
  const [problem] = problems(() => train({ config: file }));
  assert.equal(problem!.message, '"votes" is a setting of vf ttrl, not of vf train');
});

test('all problems of a configuration are reported together', () => {
  const file = yaml('many.yaml', 'lr: fast\nbetta1: 0.9\n');
  const found = problems(() => train({ config: file, steps: '0', reward: 'q' }, { VF_SEED: '-1' }));
  assert.deepEqual(
    found.map((problem) => problem.message),
    [
      `unknown key "betta1" in ${file}`,
      'Expected a number of at least 0 for lr but received "fast"',
      'Expected an integer of at least 0 for VF_SEED but received "-1"',
      'Expected one of p, p_mean, logp for --reward but received "q"',
      'Expected an integer of at least 1 for --steps but received "0"',
    ],
  );
  assert.equal(found[1]!.place.line, 1);
});

test('broken YAML names file, line and column', () => {
  const file = yaml('broken.yaml', 'lr: 1e-6\nseed: [1\n');
  const [problem] = problems(() => train({ config: file }));
  assert.match(problem!.message, /is not valid YAML/);
  assert.equal(problem!.place.file, file);
  assert.equal(problem!.place.line, 3);
  const twice = yaml('twice.yaml', 'lr: 1e-6\nlr: 2e-6\n');
  assert.equal(problems(() => train({ config: twice }))[0]!.place.line, 2);
  const list = yaml('list.yaml', '- lr\n');
  assert.match(problems(() => train({ config: list }))[0]!.message, /holds no settings/);
  assert.equal(
    problems(() => train({ config: path.join(folder, 'absent.yaml') }))[0]!.code,
    'VF_CONFIG_FILE',
  );
});

test('NaN, infinities, fractions for integers and other notations are refused', () => {
  for (const raw of ['NaN', 'Infinity', '1e400', '0x10', '', '1,000', '1_000', '12abc']) {
    assert.equal(problems(() => train({ lr: raw })).length, 1, `lr ${raw}`);
  }
  assert.equal(problems(() => train({ steps: '2.5' })).length, 1);
  const file = yaml('nan.yaml', 'lr: .nan\nclip-norm: .inf\n');
  assert.equal(problems(() => train({ config: file })).length, 2);
  assert.equal(train({ lr: '2.5E-6' }).settings.lr, 2.5e-6);
});

test('words stand beside numbers where an option allows them', () => {
  assert.equal(train({ 'length-norm': 'max_tokens' }).settings.lengthNorm, 'max_tokens');
  assert.equal(train({ 'length-norm': '64' }).settings.lengthNorm, 64);
  assert.match(
    problems(() => train({ 'length-norm': 'tokens' }))[0]!.message,
    /Expected none, max_tokens or a number above 0/,
  );
  assert.equal(resolveConfig('ttrl', { flags: { omega: 'inf' }, env: {} }).settings.omega, 'inf');
  assert.equal(problems(() => resolveConfig('ttrl', { flags: { omega: '0.5' }, env: {} })).length, 1);
});

test('--map takes pairs, YAML a mapping', () => {
  assert.deepEqual(train({ map: ['answer=solution', 'question=problem'] }).settings.map, {
    answer: 'solution',
    question: 'problem',
  });
  const file = yaml('map.yaml', 'map:\n  answer: solution\n');
  assert.deepEqual(train({ config: file }).settings.map, { answer: 'solution' });
  assert.equal(problems(() => train({ map: ['answer'] })).length, 1);
});

test('combinations that cannot work are refused with the reason', () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ 'group-size': '1' }, /a group of 1 has no other trace/],
    [{ 'group-size': '1', advantage: 'mean' }, /a group of 1 has no other trace/],
    [{ temperature: '0' }, /temperature 0 makes all traces of a group equal/],
    [{ 'top-p': '0.9' }, /samples from another distribution/],
    [{ 'top-k': '5' }, /samples from another distribution/],
    [{ 'mini-batches': '17' }, /17 mini-batches of whole groups can't be made of 16 questions/],
    [{ reward: 'logp', 'reward-exponent': '2' }, /takes no exponent/],
    [{ warmup: '60' }, /warmup of 60 steps is longer than the run's 50/],
  ];
  for (const [flags, message] of cases) {
    const found = problems(() => train(flags));
    assert.equal(found.length, 1, JSON.stringify(flags));
    assert.match(found[0]!.message, message);
    assert.notEqual(found[0]!.hint, undefined);
  }
  assert.equal(problems(() => train({ 'group-size': '1', advantage: 'none' })).length, 0);
});

test('the clip is off with one update a step and 0.2 with more', () => {
  assert.equal(train({}).settings.clip, 'none');
  const more = train({ 'mini-batches': '2' });
  assert.equal(more.settings.clip, 0.2);
  assert.equal(more.origins.clip, 'rule');
  assert.equal(train({ epochs: '2', clip: '0.1' }).settings.clip, 0.1);
  assert.equal(train({ epochs: '2', clip: 'none' }).settings.clip, 'none');
});

test("the paper's presets need a model and data, and carry its settings", () => {
  const [problem] = problems(() => train({ preset: 'verifree-1.7b' }));
  assert.match(problem!.message, /needs model and data/);
  const { settings } = train({ preset: 'verifree-8b', model: 'm', data: 'd' });
  assert.deepEqual(
    [settings.promptsPerStep, settings.groupSize, settings.maxTokens, settings.lr, settings.beta2],
    [16, 8, 3000, 1e-6, 0.95],
  );
  assert.deepEqual([settings.steps, settings.saveEvery, settings.clipNorm], [3000, 128, 1]);
  const [unknown] = problems(() => train({ preset: 'tinny' }));
  assert.equal(unknown!.hint, 'did you mean "tiny"?');
});

test('every preset resolves for its command, and only with keys that the command has', () => {
  for (const [name, preset] of Object.entries(PRESETS)) {
    const flags = { preset: name, model: 'm', data: 'd' };
    const resolved = resolveConfig(preset.command, { flags, env: {} });
    for (const key of Object.keys(preset.values)) {
      assert.ok(key in COMMAND_OPTIONS[preset.command], `${name}: ${key}`);
    }
    assert.equal(resolved.preset, name);
  }
});

test('a resumed run keeps its settings; only its length and its saving may change', () => {
  const stored = { ...train({}).values };
  const same = train({ resume: true }, {}, stored);
  assert.equal(same.settings.maxTokens, 56);
  assert.equal(same.origins['max-tokens'], 'run');
  assert.equal(train({ steps: '80', 'save-every': '5', 'eval-every': '5' }, {}, stored).settings.steps, 80);
  const [problem] = problems(() => train({ lr: '1e-3' }, {}, stored));
  assert.equal(problem!.code, 'VF_RESUME_DIFFERS');
  assert.match(problem!.message, /the run has lr 0\.0001, --lr says 0\.001/);
  const cosine = { ...train({ 'lr-schedule': 'cosine' }).values };
  assert.match(problems(() => train({ steps: '80' }, {}, cosine))[0]!.message, /under a schedule/);
});

test('settings about one call are refused in a file, and out is not', () => {
  const file = yaml('json.yaml', 'json: true\n');
  assert.equal(problems(() => train({ config: file }))[0]!.message, '"json" is a flag, not a setting');
  assert.equal(train({ config: yaml('out.yaml', 'out: runs/a\n') }).settings.out, 'runs/a');
});
