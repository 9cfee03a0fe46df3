/** `vf eval TASK…`: samples the replies that are missing, judges them, and reports. */

import { createHash } from 'node:crypto';
import path from 'node:path';
import { parseFieldMap } from '../data/fields.js';
import { loadQuestions } from '../data/load.js';
import { VfError } from '../errors.js';
import { type CompatRule, compatScores } from '../eval/compat.js';
import { generateReplies } from '../eval/generate.js';
import { judgeAgain } from '../eval/judge.js';
import { overlapScore } from '../eval/overlap.js';
import { type Prepared, prepareItems } from '../eval/prepare.js';
import type { PromptStyle } from '../eval/prompt.js';
import { byQuestion, scoreReplies } from '../eval/score.js';
import type { Task } from '../eval/task.js';
import { taskByName } from '../eval/tasks/all.js';
import { writeAtomic } from '../run/disk.js';
import type { EvaluationReport, ReplyRow, TaskReport } from '../run/evaluation.js';
import { RUN_FILES, readJson } from '../run/folder.js';
import { type DataChoice, openExamples, openTaskData } from './eval-data.js';
import { extractorHash, keptReplies } from './eval-files.js';
import {
  evaluatedRun,
  judgedBy,
  promptStyle,
  shotsOf,
  stopsOf,
  type TaskSettings,
  taskSettings,
} from './eval-settings.js';
import { scoreTable } from './eval-table.js';
import { brief, taskMetrics, warnAboutData, warnAboutPrompts } from './eval-words.js';
import type { Job } from './job.js';
import { deviceLine, type OpenModel, openModel } from './open-model.js';
import { packageVersion } from './package.js';

/** Sequences decoded together, and tokens of a scoring pass, when no flag says. */
const BATCH = { cpu: 64, gpu: 256 };
const MICRO_BATCH = 4096;
const PROGRESS_MS = 500;

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
  const tasks = [...new Set(settings.tasks.split(',').map((name) => name.trim()))].map(taskByName);
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
  store.manifest({
    vf: packageVersion(),
    node: process.version,
    device: model.policy.info,
    model: model.folder.folder,
    seed: settings.seed,
  });
  return { job, model, style: await promptStyle(settings, model), kept, extractor: extractorHash(), run };
}

/** A task's report, or null when the user asked to stop before its last reply. */
async function evaluateTask(session: Session, task: Task): Promise<TaskReport | null> {
  const { job, style } = session;
  const { settings, emit } = job;
  const own = taskSettings(task, job, session.run);
  const map = parseFieldMap(Object.entries(settings.map).map(([field, name]) => `${field}=${name}`));
  const data = settings.data === 'bundled' ? null : settings.data;
  const choice: DataChoice = { task, data, map, seed: own.seed, limit: own.limit, set: own.heldOut?.set };
  const opened = await openTaskData(choice);
  warnAboutData(emit, task, opened);
  const shots = shotsOf(task, style, settings.fewShot);
  const examplesFor = shots > 0 ? await openExamples(choice, opened.file) : () => ({ items: [], text: null });
  const { spec } = session.model.folder;
  const { prepared, dropped } = await prepareItems(
    {
      tokenizer: session.model.tokenizer,
      style,
      maxPromptTokens: own.maxPromptTokens,
      maxTokens: own.maxTokens,
      maxPositions: spec.maxPositions,
      limit: own.limit,
      confidence: settings.confidence,
      examplesFor,
      shots,
    },
    judgedBy(style, opened.items),
  );
  warnAboutPrompts(emit, task, prepared, dropped, own);
  if (prepared.length === 0) {
    throw new VfError('VF_TOO_LONG', `no prompt of ${task.name} fits: ${JSON.stringify(dropped)}`, {
      hint: 'raise --max-prompt-tokens, or evaluate a model with more positions',
    });
  }
  const rows = await collectReplies(session, task, prepared, own);
  if (rows === null) return null;
  const questions = byQuestion(rows);
  const training =
    settings.overlap === null ? null : await loadQuestions(settings.overlap, { map, answers: 'optional' });
  emit({ event: 'progress', phase: 'scoring', done: 0, total: 1, unit: '' });
  return {
    task: task.name,
    metric: own.heldOut?.metric ?? task.metric,
    ...scoreReplies(rows),
    dropped,
    compat:
      settings.compat === 'none' ? {} : compatScores(settings.compat as CompatRule, rows, settings.seed),
    overlap: training === null ? null : overlapScore(settings.overlap!, training, prepared, questions),
    hashes: { data: opened.hash, prompts: promptsHash(rows), extractor: session.extractor },
    data: { file: opened.file, revision: opened.revision },
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
async function collectReplies(
  session: Session,
  task: Task,
  prepared: readonly Prepared[],
  own: TaskSettings,
): Promise<ReplyRow[] | null> {
  const { job, model, style } = session;
  const { settings, emit, interrupt } = job;
  const kept = session.kept.filter((row) => row.task === task.name);
  checkKept(task, kept, prepared);
  const rows = judgeAgain(kept);
  const total = prepared.length * own.samples;
  const show = (more: number) =>
    emit({
      event: 'progress',
      phase: `evaluating ${task.name}`,
      done: rows.length + more,
      total,
      unit: 'replies',
    });
  const timer = setInterval(() => show(model.policy.progress().tracesDone), PROGRESS_MS);
  const chunk = settings.maxBatch || (model.device === 'cpu' ? BATCH.cpu : BATCH.gpu);
  try {
    const batches = generateReplies(
      {
        task: task.name,
        policy: model.policy,
        decode: (ids) => model.tokenizer.decode(ids, { special: true }),
        sampling: {
          seed: BigInt(own.seed),
          temperature: own.temperature,
          topP: own.topP,
          topK: settings.topK,
          eosIds: model.folder.eosIds,
          stops: stopsOf(style, model.template, own.likeVoting),
          maxBatch: chunk,
        },
        samples: own.samples,
        firstOccurrence: own.firstOccurrence,
        border: style.border,
        confidence: settings.confidence,
        microBatchTokens: MICRO_BATCH,
        maxPositions: model.folder.spec.maxPositions,
        chunk,
        done: counts(kept),
        stopRequested: () => interrupt.requested !== null,
      },
      prepared,
    );
    show(0);
    const file = job.store.file(RUN_FILES.replies);
    for await (const batch of batches) {
      for (const row of batch) file.append(row);
      rows.push(...batch);
      show(0);
    }
  } catch (error) {
    if (!(error instanceof VfError && error.code === 'VF_CANCELLED')) throw error;
  } finally {
    clearInterval(timer);
  }
  return rows.length < total ? null : rows;
}

function counts(rows: readonly ReplyRow[]): Map<number, number> {
  const done = new Map<number, number>();
  for (const { index } of rows) done.set(index, (done.get(index) ?? 0) + 1);
  return done;
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

function promptsHash(rows: readonly ReplyRow[]): string {
  const hash = createHash('sha256');
  for (const { rows: own } of byQuestion(rows)) hash.update(`${own[0]!.promptHash}\n`);
  return hash.digest('hex');
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
