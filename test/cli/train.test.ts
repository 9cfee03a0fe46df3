/** `vf train` end to end: the built program, the bundled model, real files; and a resume that has the bits of no interruption. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratch } from '../scratch.js';
import { outcome, startBuilt } from './vf.js';

const root = scratch('train');

const SMALL = [
  '--prompts-per-step',
  '4',
  '--group-size',
  '4',
  '--max-tokens',
  '40',
  '--eval-limit',
  '8',
  '--save-every',
  '3',
];
const train = (name: string, words: readonly string[]) =>
  startBuilt(['train', '--preset', 'tiny', '--out', path.join(root, name), '--json', ...SMALL, ...words]);

type Line = Record<string, unknown> & { event?: string; step?: number; metrics?: Record<string, number> };
const lines = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const file = (name: string, ...rest: string[]) => readFileSync(path.join(root, name, ...rest));
const jsonl = (name: string, which: string): Line[] => lines(String(file(name, which)));

/** A metrics line without what depends on the clock. */
function timeless({ metrics, ...line }: Line): Line {
  const kept = Object.entries(metrics ?? {}).filter(([key]) => !/^(time|memory)\/|^tokens_per_s$/.test(key));
  return { ...line, metrics: Object.fromEntries(kept) };
}

function assertSameRun(name: string, other: string, step: number): void {
  for (const weights of ['model.safetensors', 'trainer.safetensors']) {
    const place = ['checkpoints', `step-${step}`, weights] as const;
    assert.ok(file(name, ...place).equals(file(other, ...place)), `${weights} of step ${step}`);
  }
  assert.deepEqual(jsonl(name, 'samples.jsonl'), jsonl(other, 'samples.jsonl'));
  assert.deepEqual(jsonl(name, 'metrics.jsonl').map(timeless), jsonl(other, 'metrics.jsonl').map(timeless));
}

describe('a short run', () => {
  test('trains, writes its folder and reports what the screen needs', async () => {
    const { code, stdout, stderr } = await outcome(train('whole', ['--steps', '6']));
    assert.equal(code, 0, stderr);
    const events = lines(stdout);
    assert.deepEqual(
      events.filter(({ event }) => event === 'step').map(({ step }) => step),
      [0, 1, 2, 3, 4, 5, 6],
    );
    const signal = events.find(({ event, step }) => event === 'step' && step === 0)!.metrics!;
    assert.ok(signal['grad/norm_answer']! > 0 && signal['groups/with_signal']! > 0);
    const step = events.find(({ event, step }) => event === 'step' && step === 1)!.metrics!;
    assert.equal(
      step['mismatch/max_abs_logprob'],
      0,
      "the sampler's log-probs are the trainer's, bit for bit",
    );
    assert.equal(step['ratio/clip_share'], 0);
    assert.ok(step['reward/mean']! >= 0 && step['reward/mean']! <= 1);
    assert.ok(step['grad/norm']! > 0);
    const evals = events.filter(({ event }) => event === 'eval');
    assert.deepEqual(
      evals.map(({ step }) => step),
      [0, 6],
    );
    assert.ok('eval/bundled-validation/accuracy' in evals[0]!.metrics!);
    assert.ok('eval/bundled-test/accuracy' in evals[1]!.metrics!);
    assert.equal(events.at(-1)!.event, 'end');
    assert.deepEqual(readdirSync(path.join(root, 'whole', 'checkpoints')).sort(), [
      'latest',
      'step-3',
      'step-6',
    ]);
    for (const name of ['config.yaml', 'manifest.json', 'report.html', 'events.jsonl']) {
      assert.ok(existsSync(path.join(root, 'whole', name)), name);
    }
  });

  test('counts |prompt| + sum |trace + patch| tokens a group in the training pass', () => {
    const first = jsonl('whole', 'metrics.jsonl').find(({ event, step }) => event === 'step' && step === 1);
    const groups = jsonl('whole', 'samples.jsonl').filter(({ step }) => step === 1) as unknown as {
      traces: { ids: number[] }[];
    }[];
    const metrics = first!.metrics!;
    const traces = groups
      .flatMap((group) => group.traces.map(({ ids }) => ids.length))
      .reduce((a, b) => a + b, 0);
    const prompts = metrics['tokens/prompts']!;
    const answers = metrics['tokens/answers']!;
    assert.ok(prompts > 0 && answers > 0);
    assert.equal(metrics['tokens/trained'], prompts + traces + answers);
  });

  test('the same seed gives the same bits, another seed another run', async () => {
    assert.equal((await outcome(train('again', ['--steps', '6']))).code, 0);
    assertSameRun('again', 'whole', 6);
    assert.equal((await outcome(train('other', ['--steps', '3', '--seed', '2']))).code, 0);
    assert.notDeepEqual(jsonl('other', 'samples.jsonl')[0], jsonl('whole', 'samples.jsonl')[0]);
  });

  test('killed in step 5 and resumed, it is the run that was never interrupted', async () => {
    const child = train('killed', ['--steps', '6']);
    let text = '';
    while (!text.includes('"event":"step"') || !/"step":4[,}]/.test(text))
      text += String((await once(child.stdout, 'data'))[0]);
    await sleep(Math.floor(Number(process.hrtime.bigint() % 120n)));
    child.kill('SIGKILL');
    await once(child, 'close');
    assert.equal(String(file('killed', 'checkpoints', 'latest')).trim(), 'step-3');
    const { code, stderr } = await outcome(
      startBuilt(['train', '--resume', '--out', path.join(root, 'killed'), '--json']),
    );
    assert.equal(code, 0, stderr);
    assertSameRun('killed', 'whole', 6);
  });

  test('a resume keeps the start model and its hashes, and refuses another tokenizer', async () => {
    cpSync(path.join(root, 'other'), path.join(root, 'changed'), { recursive: true });
    const manifest = () => JSON.parse(String(file('changed', 'manifest.json')));
    const { model, hashes } = manifest();
    assert.equal(path.basename(model), 'tiny');
    assert.match(hashes.model, /^[0-9a-f]{64}$/);
    assert.match(hashes.tokenizer, /^[0-9a-f]{64}$/);
    const again = ['train', '--resume', '--out', path.join(root, 'changed'), '--steps', '4', '--json'];
    const tokenizer = path.join(root, 'changed', 'checkpoints', 'step-3', 'tokenizer.json');
    const text = readFileSync(tokenizer, 'utf8');
    writeFileSync(tokenizer, `${text}\n`);
    const refused = await outcome(startBuilt(again));
    assert.equal(refused.code, 2);
    assert.match(refused.stdout, /VF_MODEL_CHANGED.*tokenizer in .*step-3 to be unchanged/);
    writeFileSync(tokenizer, text);
    assert.equal((await outcome(startBuilt(again))).code, 0);
    assert.deepEqual([manifest().model, manifest().hashes], [model, hashes]);
  });

  test('a longer run continues with --steps; a flag that differs is refused by name', async () => {
    cpSync(path.join(root, 'other'), path.join(root, 'longer'), { recursive: true });
    const out = ['--out', path.join(root, 'longer')];
    const refused = await outcome(startBuilt(['train', '--resume', ...out, '--lr', '0.5']));
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /lr/);
    const { code, stderr } = await outcome(
      startBuilt(['train', '--resume', ...out, '--steps', '4', '--json']),
    );
    assert.equal(code, 0, stderr);
    assert.equal(String(file('longer', 'checkpoints', 'latest')).trim(), 'step-4');
  });

  test('Ctrl-C finishes the step, saves and says how to go on: exit 130', async () => {
    const child = train('stopped', ['--steps', '500']);
    let text = '';
    while (!/"event":"step"/.test(text)) text += String((await once(child.stdout, 'data'))[0]);
    child.kill('SIGINT');
    const { code, stdout } = await outcome(child);
    assert.equal(code, 130);
    assert.match(stdout, /"VF_STOPPING","message":"finishing the step and saving/);
    const end = lines(stdout).at(-1)!;
    assert.equal(end.event, 'end');
    const latest = String(file('stopped', 'checkpoints', 'latest')).trim();
    const steps = jsonl('stopped', 'metrics.jsonl').filter(({ event }) => event === 'step');
    assert.equal(latest, `step-${steps.at(-1)!.step}`);
  });
});

describe('data and settings', () => {
  const data = (name: string, rows: unknown[]) => {
    const place = path.join(root, name);
    writeFileSync(place, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return place;
  };
  const quick = (words: string[]) => outcome(startBuilt(['train', '--preset', 'tiny', ...words]));

  test('an empty reference is refused with file and line', async () => {
    const place = data('empty.jsonl', [
      { question: 'What is 1 + 1?', answer: '2' },
      { question: 'What is 3 + 4?', answer: ' ' },
    ]);
    const { code, stderr } = await quick(['--data', place]);
    assert.equal(code, 2);
    assert.match(stderr, /error: row 2 of empty\.jsonl has no reference answer/);
    assert.match(stderr, /--> .*empty\.jsonl:2/);
  });

  test('a group of one, temperature 0 and a top-p below 1 are refused with the reason', async () => {
    const { code, stderr } = await quick(['--group-size', '1', '--temperature', '0', '--top-p', '0.9']);
    assert.equal(code, 2);
    assert.match(stderr, /group of 1/);
    assert.match(stderr, /temperature 0/);
    assert.match(stderr, /top-p/);
  });

  test('own questions train with every reward and weight, braces, LaTeX, CJK and emoji in the references', async () => {
    const place = data('own.jsonl', [
      { question: 'Write the set.', answer: '\\{1, 2\\}' },
      { question: 'Half?', answer: ['\\frac{1}{2}', '0.5'] },
      { question: '水？', answer: '水 🌊' },
      { question: 'Long?', answer: 'a long reference '.repeat(12).trim() },
    ]);
    for (const [i, words] of [
      ['--reward', 'p_mean'],
      ['--reward', 'logp', '--answer-weight', 'one'],
      ['--reward-exponent', '0.5', '--advantage', 'none', '--length-norm', 'max_tokens'],
      ['--epochs', '2', '--mini-batches', '2', '--lr', '0.01', '--kl', '0.01'],
    ].entries()) {
      const { code, stdout, stderr } = await outcome(
        train(`own-${i}`, [
          '--steps',
          '2',
          '--data',
          place,
          '--force-border',
          '--max-prompt-tokens',
          '300',
          ...words,
        ]),
      );
      assert.equal(code, 0, stderr);
      const steps = lines(stdout).filter(({ event, step }) => event === 'step' && step !== 0);
      assert.equal(steps.length, 2);
      for (const { metrics } of steps) assert.ok(Number.isFinite(metrics!['grad/norm']!));
      if (words.includes('--epochs')) {
        assert.equal(steps[0]!.metrics!['optimizer/updates'], 4);
        assert.notEqual(steps[0]!.metrics!['ratio/max'], 1, 'later updates move the ratio');
      }
    }
  });

  test('--probe measures both terms, updates nothing and advises', async () => {
    const { code, stdout, stderr } = await outcome(
      startBuilt(['train', '--probe', '4', '--json', '--eval-limit', '2']),
    );
    assert.equal(code, 0, stderr);
    const events = lines(stdout);
    const { metrics } = events.find(({ event }) => event === 'step')!;
    for (const name of [
      'grad/norm_reasoning',
      'grad/norm_answer',
      'groups/with_signal',
      'reward/underflows',
      'border/rate',
    ]) {
      assert.ok(Number.isFinite(metrics![name]!), name);
    }
    const end = events.at(-1) as unknown as { summary: { advice: string[] } };
    assert.ok(end.summary.advice.length > 0);
  });
});
