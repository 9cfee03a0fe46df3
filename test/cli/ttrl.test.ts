/** `vf ttrl` end to end: bundled model, real sandbox and solver; a resume that has the bits of no interruption. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratch } from '../scratch.js';
import { sandboxSkip } from '../verify/needs-sandbox.js';
import { outcome, startBuilt } from './vf.js';

const root = scratch('ttrl');

const SMALL = ['--preset', 'tiny-ttrl', '--prompts-per-step', '4', '--votes', '8', '--train-samples', '6'];
const EVAL = ['--eval-limit', '6', '--eval-samples', '2', '--save-every', '2'];
const ttrl = (name: string, words: readonly string[], env: Record<string, string> = {}) =>
  startBuilt(['ttrl', ...SMALL, ...EVAL, '--out', path.join(root, name), '--json', ...words], { env });

type Line = Record<string, unknown> & { event?: string; step?: number; metrics?: Record<string, number> };
const lines = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const file = (name: string, ...rest: string[]) => readFileSync(path.join(root, name, ...rest));
const jsonl = (name: string, which: string): Line[] => lines(String(file(name, which)));
const stepsOf = (name: string) => jsonl(name, 'metrics.jsonl').filter(({ event }) => event === 'step');

/** A metrics line without what depends on the clock. */
function timeless({ metrics, ...line }: Line): Line {
  const kept = Object.entries(metrics ?? {}).filter(([key]) => !/^time\/|_seconds$|^tokens_per_s$/.test(key));
  return { ...line, metrics: Object.fromEntries(kept) };
}

function assertSameRun(name: string, other: string, step: number): void {
  for (const weights of ['model.safetensors', 'trainer.safetensors']) {
    const place = ['checkpoints', `step-${step}`, weights] as const;
    assert.ok(file(name, ...place).equals(file(other, ...place)), `${weights} of step ${step}`);
  }
  for (const which of ['samples.jsonl', 'votes.jsonl'])
    assert.deepEqual(jsonl(name, which), jsonl(other, which));
  assert.deepEqual(jsonl(name, 'metrics.jsonl').map(timeless), jsonl(other, 'metrics.jsonl').map(timeless));
}

describe('without a tool', () => {
  test('omega 1 needs no sandbox: it votes, trains on the first traces and measures pass@1', async () => {
    const words = ['--steps', '3', '--omega', '1'];
    const { code, stdout, stderr } = await outcome(ttrl('plain', words, { PATH: '/nowhere' }));
    assert.equal(code, 0, stderr);
    const events = lines(stdout);
    const start = events.find(({ event }) => event === 'start') as unknown as { device: string };
    assert.match(start.device, /TTRL \(ω = 1\)/);
    const [first] = stepsOf('plain');
    assert.equal(first!.metrics!['optimizer/updates'], 1);
    assert.ok(!('verifier/accuracy' in first!.metrics!) && !('cost/verifier_tokens' in first!.metrics!));
    const evals = events.filter(({ event }) => event === 'eval');
    for (const name of ['transductive', 'held-out', 'held-out-biased', 'held-out-other'])
      assert.ok(`eval/${name}/pass@1` in evals[0]!.metrics!, name);
    const votes = jsonl('plain', 'votes.jsonl') as unknown as {
      step: number;
      label: string;
      votes: (string | null)[];
      answers: { key: string; verified: number; unverified: number; mass: number }[];
    }[];
    assert.equal(votes.length, 12);
    for (const vote of votes) {
      assert.equal(vote.votes.length, 8);
      const winner = vote.answers.find(({ key }) => key === vote.label)!;
      assert.equal(winner.mass, vote.votes.filter((key) => key === vote.label).length);
    }
    const groups = jsonl('plain', 'samples.jsonl') as unknown as { traces: { reward: number }[] }[];
    groups.forEach(({ traces }, i) => {
      assert.equal(traces.length, 6, 'the first 6 of 8');
      const { label, votes: keys } = votes[i]!;
      assert.deepEqual(
        traces.map(({ reward }) => reward),
        keys.slice(0, 6).map((key) => Number(key === label)),
      );
    });
    assert.ok(!existsSync(path.join(root, 'plain', 'verdicts.jsonl')));
    const end = events.at(-1) as unknown as { summary: { cost: { formula: string } } };
    assert.match(end.summary.cost.formula, /2·N/);
  });

  test('references never reach training: wrong ones give the same weights', async () => {
    const questions = ['7+2*4=?', '$70, 50% off?', 'Fence round 3 by 7?', '45 pens, 14 more. Total?'];
    const runs = ['15', '1000', null].map(async (answer, i) => {
      const data = path.join(root, `gold-${i}.jsonl`);
      const rows = questions.map((question) =>
        JSON.stringify({ question, ...(answer === null ? {} : { answer }) }),
      );
      writeFileSync(data, `${rows.join('\n')}\n`);
      const words = ['--steps', '2', '--data', data, '--model', 'bundled'];
      const { code, stderr } = await outcome(ttrl(`gold-${i}`, words));
      assert.equal(code, 0, stderr);
      return file(`gold-${i}`, 'checkpoints', 'step-2', 'model.safetensors');
    });
    const [right, wrong, none] = await Promise.all(runs);
    assert.ok(right!.equals(wrong!));
    assert.ok(right!.equals(none!));
    assert.ok(!('vote/label_accuracy' in stepsOf('gold-2')[0]!.metrics!));
  });

  test('a step whose questions all lack agreement updates nothing', async () => {
    const data = path.join(root, 'one.jsonl');
    writeFileSync(data, `${JSON.stringify({ question: '7+2*4=?' })}\n`);
    const words = ['--data', data, '--steps', '2', '--prompts-per-step', '1', '--votes', '32'];
    const { code, stderr } = await outcome(ttrl('none', [...words, '--min-agreement', '1']));
    assert.equal(code, 0, stderr);
    const [first] = stepsOf('none');
    assert.equal(first!.metrics!['vote/low_agreement'], 1);
    assert.equal(first!.metrics!['groups/trained'], 0);
    assert.equal(first!.metrics!['optimizer/updates'], 0);
  });

  test('several updates a step, clip, KL to the start model: finite, and the ratio moves', async () => {
    const words = [
      '--steps',
      '2',
      '--mini-batches',
      '4',
      '--clip',
      '0.2',
      '--dual-clip',
      '3',
      '--kl',
      '0.001',
    ];
    const { code, stderr } = await outcome(ttrl('many', [...words, '--lr', '1e-3']));
    assert.equal(code, 0, stderr);
    const [first, second] = stepsOf('many');
    assert.equal(first!.metrics!['optimizer/updates'], 4);
    assert.notEqual(first!.metrics!['ratio/max'], 1);
    assert.equal(first!.metrics!['mismatch/max_abs_logprob'], 0);
    assert.ok(second!.metrics!['loss/kl']! > 0);
  });
});

describe('with programs in the sandbox', { skip: sandboxSkip }, () => {
  const T3RL = ['--omega', '5', '--steps', '4'];

  test('omega 5 runs a program for every answered trace and weighs what it verifies', async () => {
    const { code, stdout, stderr } = await outcome(ttrl('whole', T3RL));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /enforced: .*network/);
    const metrics = stepsOf('whole').map((step) => step.metrics!);
    for (const step of metrics) {
      const counts = Object.entries(step).filter(([name]) => /^verdict\/(?!programs)/.test(name));
      assert.equal(
        counts.reduce((sum, [, count]) => sum + count, 0),
        32,
      );
      assert.ok(step['cost/verifier_tokens']! > 0);
    }
    assert.ok(metrics.some((step) => step['vote/verified']! > 0));
    const votes = jsonl('whole', 'votes.jsonl') as unknown as {
      label: string | null;
      answers: { key: string; verified: number; unverified: number; mass: number }[];
    }[];
    for (const { label, answers } of votes) {
      for (const { mass, verified, unverified } of answers) assert.equal(mass, unverified + 5 * verified);
      const most = Math.max(...answers.map(({ mass }) => mass));
      if (label !== null) assert.equal(answers.find(({ key }) => key === label)!.mass, most);
    }
  });

  test('verifying at omega 1 for the metrics changes no weight', async () => {
    for (const [name, words] of [
      ['bare', []],
      ['measured', ['--verify-always']],
    ] as const) {
      const { code, stderr } = await outcome(ttrl(name, ['--steps', '2', '--omega', '1', ...words]));
      assert.equal(code, 0, stderr);
    }
    const place = ['checkpoints', 'step-2', 'model.safetensors'] as const;
    assert.ok(file('bare', ...place).equals(file('measured', ...place)));
    assert.ok('verifier/accuracy' in stepsOf('measured')[0]!.metrics!);
    const answers = (name: string) =>
      jsonl(name, 'votes.jsonl').map(({ votes, label }) => ({ votes, label }));
    assert.deepEqual(answers('bare'), answers('measured'));
  });

  test('a second model verifies: its parameters and tokens are counted, and the policy draws the same', async () => {
    const second = path.join(import.meta.dirname, '..', '..', 'assets', 'tiny-t3rl');
    const { code, stderr } = await outcome(ttrl('second', [...T3RL, '--steps', '1', '--verifier', second]));
    assert.equal(code, 0, stderr);
    // Before the first update the policy and its copy are the same verifier.
    assert.deepEqual(jsonl('second', 'votes.jsonl'), jsonl('whole', 'votes.jsonl').slice(0, 4));
    assert.ok(stepsOf('second')[0]!.metrics!['cost/verifier_flops']! > 0);
  });

  test('killed in step 3 or later and resumed, it is the run that was never interrupted, no program run twice', async () => {
    const child = ttrl('killed', T3RL);
    let text = '';
    while (!/"event":"step".*"step":2[,}]/.test(text)) text += String((await once(child.stdout, 'data'))[0]);
    await sleep(Math.floor(Number(process.hrtime.bigint() % 300n)));
    child.kill('SIGKILL');
    await once(child, 'close');
    const resumed = ['ttrl', '--resume', '--out', path.join(root, 'killed'), '--json'];
    const { code, stderr } = await outcome(startBuilt(resumed));
    assert.equal(code, 0, stderr);
    assertSameRun('killed', 'whole', 4);
    const hashes = jsonl('killed', 'verdicts.jsonl').map(({ hash }) => hash);
    assert.equal(new Set(hashes).size, hashes.length);
    assert.deepEqual(
      hashes.sort(),
      jsonl('whole', 'verdicts.jsonl')
        .map(({ hash }) => hash)
        .sort(),
    );
  });
});

describe('what stops before training', () => {
  test('without bubblewrap omega 5 ends with code 3 and three remedies, and no model is loaded', {
    skip: sandboxSkip,
  }, async () => {
    const program = path.join(import.meta.dirname, '..', '..', 'bin', 'vf.js');
    const words = ['ttrl', '--omega', '5', '--json', '--out', path.join(root, 'no-sandbox')];
    const hidden = ['--dev-bind', '/', '/', '--ro-bind', '/dev/null', '/usr/bin/bwrap'];
    const child = spawn('/usr/bin/bwrap', [...hidden, process.execPath, program, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout } = await outcome(child);
    assert.equal(code, 3);
    const events = lines(stdout);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['end'],
    );
    const { hint } = events[0]!.error as { hint: string };
    for (const remedy of [/apt-get install -y bubblewrap/, /--sandbox deno/, /--tool smt/])
      assert.match(hint, remedy);
  });

  test('omega below 1 and a tool of none with omega above 1 are refused with the reason: exit 2', async () => {
    const low = await outcome(ttrl('low', ['--omega', '0.5']));
    assert.equal(low.code, 2);
    assert.match(low.stdout, /omega/);
    const bare = await outcome(ttrl('bare-tool', ['--omega', '5', '--tool', 'none']));
    assert.equal(bare.code, 2);
    assert.match(bare.stdout, /nothing is verified/);
  });
});

describe('with the solver', () => {
  test('puzzles are checked by built-in rules: no program, no sandbox, precision 1', async () => {
    const words = ['--tool', 'smt', '--verifier', 'rules', '--omega', 'inf', '--steps', '2'];
    const { code, stdout, stderr } = await outcome(ttrl('knights', words));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /transductive-2-people/);
    const metrics = stepsOf('knights').map((step) => step.metrics!);
    for (const step of metrics) {
      assert.ok(!('cost/verifier_tokens' in step));
      if (step['verdict/verified']) assert.equal(step['verifier/precision'], 1);
      assert.equal(step['verifier/accuracy'], 1);
    }
    const votes = jsonl('knights', 'votes.jsonl') as unknown as { answers: { mass: number | string }[] }[];
    assert.ok(votes.flatMap(({ answers }) => answers).some(({ mass }) => mass === 'inf'));
  });
});
