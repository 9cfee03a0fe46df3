/** `vf ttrl`: test-time RL on unlabeled questions, with a verifier and its tool when verified votes weigh more. */

import type { EventBody, Metrics } from '../run/events.js';
import { runLoop } from '../train/loop.js';
import { FLOPS_FORMULA } from '../verify/cost.js';
import type { Job } from './job.js';
import { writeManifest } from './manifest.js';
import { deviceLine } from './open-model.js';
import { packageVersion } from './package.js';
import { readRun } from './run-record.js';
import { taskRecords, warnAboutTasks } from './training-tasks.js';
import { type OpenTool, openChecker, openTool } from './ttrl-check.js';
import { loopParts, questionsPerUpdate, setUpTtrl, type TtrlSetup } from './ttrl-parts.js';
import { totalLines, totalsOf } from './ttrl-summary.js';

/** Trains; the summary carries pass@1 before and after, what ω did, what it cost, and what to do next. */
export async function runTtrl(job: Job<'ttrl'>): Promise<Record<string, unknown>> {
  const { settings, store, emit } = job;
  // First of all: without a sandbox no model needs to be loaded.
  const tool = await openTool(settings, store.folder);
  try {
    emit({ event: 'progress', phase: 'loading', done: 0, total: 1, unit: '' });
    const setup = await setUpTtrl(job, store);
    const check = tool === null ? null : await openChecker(settings, setup.model, tool, store);
    await writeManifest(store, setup.model, manifestOf(job, setup, tool));
    emit(startEvent(job, setup, check?.line ?? null));
    warn(setup, emit);
    const parts = loopParts(settings, setup, check, store, emit, job.interrupt);
    const evaluations: Metrics[] = [];
    const watched = {
      ...parts,
      emit: (event: EventBody) => {
        if (event.event === 'eval') evaluations.push(event.metrics);
        if (event.event === 'step' && event.step === 1) warnWithoutAnswers(event.metrics, emit);
        emit(event);
      },
    };
    const reached = await runLoop(watched, setup.state);
    await check?.verifier?.close();
    await setup.reference?.model.policy.close();
    await setup.model.policy.close();
    return summaryOf(job, reached.step, evaluations);
  } finally {
    await tool?.tool.close();
  }
}

function manifestOf(job: Job<'ttrl'>, { data, tasks }: TtrlSetup, tool: OpenTool | null) {
  return {
    data: { file: data.file, sha256: data.hash, questions: data.questions.length },
    ...(tasks.length > 0 ? { tasks: taskRecords(tasks) } : {}),
    seed: job.settings.seed,
    ...(tool?.sandbox ? { sandbox: tool.sandbox.report } : {}),
  };
}

const number = (value: number) => value.toLocaleString('en-US');

function startEvent(job: Job<'ttrl'>, setup: TtrlSetup, check: string | null): EventBody {
  const { settings, store } = job;
  const { model } = setup;
  const { spec, notes } = model.folder;
  const { parameters } = model.policy.info;
  const method = settings.omega === 1 ? 'TTRL (ω = 1)' : `T3RL (ω = ${settings.omega})`;
  return {
    event: 'start',
    command: 'ttrl',
    version: packageVersion(),
    device: `${method} · ${deviceLine(model)}`,
    banner: [
      {
        label: 'model',
        value: `${settings.model === 'bundled' ? 'bundled tiny-t3rl' : settings.model} (${spec.family}, ${(parameters / 1e6).toFixed(1)} M parameters, ${model.dtype})`,
      },
      { label: 'data', value: dataLine(settings, setup) },
      {
        label: 'step',
        value: `${settings.promptsPerStep} questions × ${settings.votes} votes, first ${settings.trainSamples} trained, ≤ ${number(settings.maxTokens)} tokens, T ${settings.temperature}`,
      },
      {
        label: 'update',
        value: `lr ${settings.lr} ${settings.lrSchedule}, ${settings.advantage}, ${questionsPerUpdate(settings)} questions an update, clip ${settings.clip}, KL ${settings.kl}; seed ${settings.seed}`,
      },
      { label: 'check', value: check ?? 'none: every vote weighs 1' },
      { label: 'cost', value: FLOPS_FORMULA },
      ...notes.map((note) => ({ label: 'note', value: note })),
    ],
    settings: job.values,
    folder: store.folder,
    steps: settings.steps,
    ...(store.resumeFrom ? { resumedFrom: setup.state.step } : {}),
  };
}

function dataLine(settings: Job<'ttrl'>['settings'], { data, evaluations, tasks }: TtrlSetup): string {
  const parts = [`${number(data.questions.length)} questions, references never used for rewards`];
  for (const { task, questions } of evaluations) {
    const which = task === 'transductive' ? 'of those same questions' : 'other questions';
    parts.push(`${task}: pass@1 on ${number(questions.length)} ${which}`);
  }
  for (const { metric, prepared } of tasks) parts.push(`${number(prepared.length)} ${metric}`);
  if (evaluations.length + tasks.length > 0)
    parts.push(`mean of ${settings.evalSamples} replies at T ${settings.evalTemperature}`);
  return parts.join('; ');
}

function warn(setup: TtrlSetup, emit: (event: EventBody) => void): void {
  for (const [rule, count] of Object.entries(setup.data.dropped))
    emit({ event: 'warning', code: 'VF_DROPPED', message: `${count} questions dropped: ${rule}` });
  warnAboutTasks(emit, setup.tasks);
}

/** Nearly nobody answers: there is nothing to vote on. */
function warnWithoutAnswers(metrics: Metrics, emit: (event: EventBody) => void): void {
  const unanswered = metrics['vote/unanswered'] ?? 0;
  if (unanswered < 0.8) return;
  emit({
    event: 'warning',
    code: 'VF_NO_ANSWERS',
    message: `${(100 * unanswered).toFixed(0)} % of the traces hold no \\boxed answer; warm the model up on the form (vf sft), take an instruct model, or raise --max-tokens`,
  });
}

function summaryOf(job: Job<'ttrl'>, steps: number, evaluations: readonly Metrics[]) {
  const { settings, store } = job;
  const totals = totalsOf(readRun(store.folder).steps.map(({ metrics }) => metrics));
  const model = `--model ${store.folder}`;
  return {
    steps,
    before: evaluations[0] ?? null,
    after: evaluations.length > 1 ? evaluations[evaluations.length - 1] : null,
    ...totals,
    advice: totalLines(totals, settings.omega),
    next: [
      `npx vf sample ${model} --prompt "…"`,
      `npx vf ttrl ${sameSet(settings)}--omega ${settings.omega === 1 ? 5 : 1}`,
      ...(settings.model === 'bundled'
        ? ['npx vf ttrl --model PATH --data YOUR.jsonl --preset aime24 --omega 5']
        : []),
    ],
  };
}

/** The flags that name this run's model, data and tool again. */
function sameSet({ model, data, tool, verifier }: Job<'ttrl'>['settings']): string {
  const flags = [
    ...(model === 'bundled' ? [] : ['--model', model]),
    ...(data === 'bundled' ? [] : ['--data', data]),
    ...(tool === 'python' ? [] : ['--tool', tool]),
    ...(verifier === 'self' ? [] : ['--verifier', verifier]),
  ];
  return flags.map((word) => `${word} `).join('');
}
