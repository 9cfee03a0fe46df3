/** `vf eval TASK…`: samples the replies that are missing, judges them, and reports. */

import path from 'node:path';
import { parseFieldMap } from '../data/fields.js';
import { loadQuestions } from '../data/load.js';
import { VfError } from '../errors.js';
import { type CompatRule, compatScores } from '../eval/compat.js';
import { overlapScore } from '../eval/overlap.js';
import { type Prepared, promptsHash } from '../eval/prepare.js';
import type { PromptStyle } from '../eval/prompt.js';
import { byQuestion, scoreReplies } from '../eval/score.js';
import type { Task } from '../eval/task.js';
import { tasksNamed } from '../eval/tasks/all.js';
import { writeAtomic } from '../run/disk.js';
import type { EvaluationReport, ReplyRow, TaskReport } from '../run/evaluation.js';
import { RUN_FILES, readJson } from '../run/folder.js';
import { DEFAULT_MICRO_BATCH } from './batch-sizes.js';
import { extractorHash, keptReplies } from './eval-files.js';
import { evaluatedRun, promptStyle, taskSettings } from './eval-settings.js';
import { scoreTable } from './eval-table.js';
import { askTask, openTask, prepareTask, type ReadyTask } from './eval-task.js';
import { brief, taskMetrics, warnAboutData, warnAboutPrompts } from './eval-words.js';
import type { Job } from './job.js';
import { writeManifest } from './manifest.js';
import { deviceLine, type OpenModel, openModel } from './open-model.js';
import { packageVersion } from './package.js';

interface Session {
  job: Job<'eval'>;
  model: OpenModel;
  style: PromptStyle;
  /** Replies of a run that is continued. */
  kept: readonly ReplyRow[];
  extractor: string;
  run: Record<string, unknown> | null;
}

/** Evaluates the tasks one after the other; the summary carries the scores. Stops between batches when asked to. */
export async function runEval(job: Job<'eval'>): Promise<Record<string, unknown>> {
  const { settings, store, emit, interrupt } = job;
  const tasks = tasksNamed(settings.tasks);
  const kept = settings.resume ? keptReplies(store.folder) : [];
  emit({ event: 'progress', phase: 'loading', done: 0, total: 1, unit: '' });
  const session = await openSession(job, kept);
  const { model } = session;
  emit(startEvent(session, tasks));
  interrupt.signal.addEventListener('abort', () => model.policy.cancel(), { once: true });
  const reports: TaskReport[] = [];
  for (const task of tasks) {
    const report = await evaluateTask(session, task);
    if (report === null) break;
    reports.push(report);
    emit({ event: 'eval', step: 0, metrics: taskMetrics(report) });
  }
  await model.policy.close();
  if (reports.length < tasks.length) return { replies: path.join(store.folder, RUN_FILES.replies) };
  const scores = path.join(store.folder, RUN_FILES.scores);
  const whole: EvaluationReport = {
    v: 1,
    run: store.name,
    model: settings.model,
    created: new Date().toISOString(),
    vf: packageVersion(),
    tasks: reports,
  };
  writeAtomic(scores, `${JSON.stringify(whole, null, 2)}\n`);
  return {
    tasks: Object.fromEntries(reports.map((report) => [report.task, brief(report)])),
    scores,
    table: scoreTable(reports),
    next: [`npx vf eval compare ${store.folder} OTHER_RUN`, `npx vf eval rescore ${store.folder}`],
  };
}

async function openSession(job: Job<'eval'>, kept: readonly ReplyRow[]): Promise<Session> {
  const { settings, store } = job;
  const manifest = readJson(path.join(store.folder, RUN_FILES.manifest));
  // A run that goes on may have moved its newest checkpoint meanwhile: the replies so far are of the first one.
  const before = settings.resume && typeof manifest?.model === 'string' ? manifest.model : settings.model;
  const run = evaluatedRun(before);
  const border = typeof run?.border === 'string' ? run.border : null;
  const model = await openModel({ ...settings, model: before, border }, { trainable: false });
  await writeManifest(store, model, { seed: settings.seed });
  return { job, model, style: await promptStyle(settings, model), kept, extractor: extractorHash(), run };
}

/** A task's report, or null when the user asked to stop before its last reply. */
async function evaluateTask(session: Session, task: Task): Promise<TaskReport | null> {
  const { job, model, style } = session;
  const { settings, emit } = job;
  const own = taskSettings(task, job, session.run);
  const map = parseFieldMap(Object.entries(settings.map).map(([field, name]) => `${field}=${name}`));
  const place = { data: settings.data === 'bundled' ? null : settings.data, map };
  const open = await openTask(task, own, place);
  warnAboutData(emit, task, open.data);
  const { fewShot, confidence } = settings;
  const ready = await prepareTask(open, model, { style, fewShot, confidence });
  const { prepared, dropped, shots } = ready;
  warnAboutPrompts(emit, ready);
  const rows = await collectReplies(session, ready);
  if (rows === null) return null;
  const questions = byQuestion(rows);
  const training =
    settings.overlap === null ? null : await loadQuestions(settings.overlap, { map, answers: 'optional' });
  emit({ event: 'progress', phase: 'scoring', done: 0, total: 1, unit: '' });
  return {
    task: task.name,
    metric: ready.metric,
    ...scoreReplies(rows),
    dropped,
    compat:
      settings.compat === 'none' ? {} : compatScores(settings.compat as CompatRule, rows, settings.seed),
    overlap: training === null ? null : overlapScore(settings.overlap!, training, prepared, questions),
    hashes: { data: open.data.hash, prompts: promptsHash(prepared), extractor: session.extractor },
    data: { file: open.data.file, revision: open.data.revision },
    prompt: { style: style.name, shots, chat: settings.chat, example: prepared[0]!.prompt },
    sampling: {
      temperature: own.temperature,
      topP: own.topP,
      topK: settings.topK,
      maxTokens: own.maxTokens,
      seed: own.seed,
    },
  };
}

/** All replies of a task: those of the run that is continued, and the missing ones, written as they arrive. */
async function collectReplies(session: Session, ready: ReadyTask): Promise<ReplyRow[] | null> {
  const { job, model } = session;
  const { settings, emit, interrupt } = job;
  const { task, prepared, own } = ready;
  const kept = session.kept.filter((row) => row.task === task.name);
  checkKept(task, kept, prepared);
  const file = job.store.file(RUN_FILES.replies);
  try {
    const rows = await askTask(ready, {
      model,
      policy: model.policy,
      topK: settings.topK,
      maxBatch: settings.maxBatch,
      microBatchTokens: DEFAULT_MICRO_BATCH,
      emit,
      kept,
      arrived: (batch) => {
        for (const row of batch) file.append(row);
      },
      stopRequested: () => interrupt.requested !== null,
    });
    return rows.length < prepared.length * own.samples ? null : rows;
  } catch (error) {
    if (!(error instanceof VfError && error.code === 'VF_CANCELLED')) throw error;
    return null;
  }
}

/** Replies of other prompts or limits can't be continued. */
function checkKept(task: Task, kept: readonly ReplyRow[], prepared: readonly Prepared[]): void {
  const known = new Map(prepared.map((one) => [one.index, one]));
  for (const row of kept) {
    const now = known.get(row.index);
    if (now?.promptHash === row.promptHash && now.maxTokens === row.maxTokens) continue;
    throw new VfError(
      'VF_RESUME_DIFFERS',
      `question ${row.id} of ${task.name} has another prompt than when its reply was stored`,
      { hint: 'put the data as it was, or start again with --force' },
    );
  }
}

function startEvent({ job, model, style, kept, run }: Session, tasks: readonly Task[]) {
  const { settings } = job;
  const { temperature, topP, samples, seed } = taskSettings(tasks[0]!, job, run);
  const { spec, notes } = model.folder;
  const { parameters } = model.policy.info;
  const sampled =
    temperature === 0
      ? 'greedy'
      : `T ${temperature}, top-p ${topP}${settings.topK > 0 ? `, top-k ${settings.topK}` : ''}`;
  const template = style.name === 'verifree' && !settings.chat ? `, template ${model.template.name}` : '';
  const rows = [
    {
      label: 'model',
      value: `${model.folder.folder} (${spec.family}, ${(parameters / 1e6).toFixed(1)} M parameters, ${model.dtype})`,
    },
    { label: 'tasks', value: tasks.map(({ name }) => name).join(', ') },
    {
      label: 'prompt',
      value: `${style.name}${template}, ${settings.chat ? 'in' : 'no'} chat template`,
    },
    { label: 'reply', value: `${samples} a question, ${sampled}; seed ${seed}` },
    ...notes.map((note) => ({ label: 'note', value: note })),
    ...(kept.length > 0 ? [{ label: 'resume', value: `${kept.length} replies are there` }] : []),
  ];
  return {
    event: 'start' as const,
    command: 'eval',
    version: packageVersion(),
    device: deviceLine(model),
    banner: rows,
    settings: job.values,
    folder: job.store.folder,
  };
}
