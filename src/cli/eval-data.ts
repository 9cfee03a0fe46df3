/** Finds the data of a task: --data, the bundled questions, the hub's cache, or a download; and reads its questions. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { FieldMap } from '../data/fields.js';
import { hashData } from '../data/load.js';
import { dataFiles, readRows } from '../data/rows.js';
import { VfError } from '../errors.js';
import type { Examples } from '../eval/prompt.js';
import type { ExampleSource, HubSource, Item, Task } from '../eval/task.js';
import { cachedHubFile, downloadHubFile, type HubFile, isOffline, type StoredFile } from '../model/hub.js';
import { type BundledSet, bundledQuestions } from './question-set.js';

export interface TaskData {
  items: Item[];
  /** A path, or what was generated. */
  file: string;
  /** Commit on the hub, where the file came from there. */
  revision: string | null;
  /** SHA-256, hex, of the file's bytes or of the generated questions. */
  hash: string;
}

export interface DataChoice {
  task: Task;
  /** --data; null when left out. */
  data: string | null;
  map: FieldMap;
  seed: number;
  /** --limit, for generated tasks. */
  limit: number;
  /** Bundled questions instead of the task's own. */
  set?: BundledSet | undefined;
  /** How the data are named on the command line, for hints; `vf eval TASK --data` when left out. */
  flag?: string;
}

/** Reads a task's questions. @throws VF_DATA_MISSING (exit code 2) with the place to get them. */
export async function openTaskData(choice: DataChoice): Promise<TaskData> {
  const { task, seed, map, limit } = choice;
  if (task.source.kind === 'generated') return generated(choice, limit);
  const place = await locate(choice);
  const items: Item[] = [];
  for await (const row of readRows(place.path)) items.push(task.read!(row, { seed, map }));
  if (items.length === 0) {
    throw new VfError('VF_DATA', `Expected questions in ${place.path} but found no row`, {
      file: place.path,
    });
  }
  return { items, file: place.path, revision: place.revision, hash: await hashData(place.path) };
}

async function generated({ task, seed, map }: DataChoice, limit: number): Promise<TaskData> {
  const items = task.generate!({ seed, map }, limit);
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256');
  for (const { question, answers } of items) hash.update(`${JSON.stringify([question, answers])}\n`);
  return { items, file: `generated from seed ${seed}`, revision: null, hash: hash.digest('hex') };
}

type Place = { path: string; revision: string | null };

async function locate(choice: DataChoice): Promise<Place> {
  const { task, data, set } = choice;
  const { source } = task;
  if (data !== null) return { path: await localFile(choice, data), revision: null };
  if (source.kind === 'bundled') return { path: bundledQuestions(set ?? source.set), revision: null };
  if (source.kind === 'hub') {
    const found = await hubFile(source.hub, source.hub.files).catch((cause: unknown) => {
      throw missing(choice, cause);
    });
    if (found !== null) return found;
  }
  throw missing(choice, null);
}

/** --data as a file, or the task's file in that folder: by published path, by name, or under the task's own name. */
async function localFile(choice: DataChoice, data: string): Promise<string> {
  const { task } = choice;
  if (!existsSync(data)) throw missing(choice, null);
  if (!statSync(data).isDirectory()) return data;
  const [plain, part] = task.name.split(':') as [string, string?];
  const names = [
    ...(task.source.kind === 'hub' ? task.source.hub.files : []),
    ...['test.jsonl', 'test.parquet', 'test.csv', `${part ?? plain}.jsonl`, `${part ?? plain}.json`],
  ];
  const folders = [
    data,
    path.join(data, plain),
    ...(part === undefined ? [] : [path.join(data, plain, part)]),
  ];
  for (const folder of folders) {
    for (const name of names) {
      for (const candidate of [path.join(folder, name), path.join(folder, path.basename(name))]) {
        if (existsSync(candidate)) return candidate;
      }
    }
  }
  const files = await dataFiles(data).catch(() => []);
  if (files.length > 0 && task.source.kind !== 'hub') return data;
  if (files.length === 1) return files[0]!;
  throw missing(choice, null);
}

/** The first of the files in the cache, else the first that the hub gives; null where there is no network to ask. */
async function hubFile(hub: HubSource, files: readonly string[]): Promise<StoredFile | null> {
  const wanted = files.map((name): HubFile => ({ type: 'dataset', repo: hub.repo, path: name }));
  for (const file of wanted) {
    const cached = await cachedHubFile(file);
    if (cached !== null) return cached;
  }
  if (isOffline()) return null;
  let failure: unknown = null;
  for (const file of wanted) {
    try {
      return await downloadHubFile(file);
    } catch (cause) {
      failure ??= cause;
    }
  }
  throw failure;
}

/** The data as an error: what was looked for, and where to get it. */
function missing({ task, data, flag }: DataChoice, cause: unknown): VfError {
  const named = flag ?? `vf eval ${task.name} --data`;
  const looked = data === null ? 'the hub cache and the network' : data;
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  const message = `no data for ${task.name} in ${looked}${why}`;
  const { source } = task;
  if (source.kind !== 'hub') {
    return new VfError('VF_DATA_MISSING', message, {
      hint: `name a file: ${named} FILE`,
      cause,
    });
  }
  const { repo, files, gated } = source.hub;
  const url = `https://huggingface.co/datasets/${repo}`;
  return new VfError('VF_DATA_MISSING', message, {
    expected: `${files.join(' or ')}, as published at ${url}`,
    hint:
      `get it from ${url}/resolve/main/${files[0]}${gated === undefined ? '' : ` (${gated})`} ` +
      `and name it: ${named} ${path.posix.basename(files[0]!)}`,
    cause,
  });
}

/** Worked examples of a task: read from beside its data, or from the hub. @throws VF_DATA_MISSING without any. */
export async function openExamples(
  choice: DataChoice,
  file: string,
): Promise<(item: Item, shots: number) => Examples> {
  const { task } = choice;
  const source = task.examples;
  if (source === undefined) {
    throw new VfError('VF_TASK', `vf eval ${task.name} has no worked examples`, {
      hint: 'leave --few-shot out, or give --few-shot 0',
    });
  }
  const found = await locateExamples(choice, source, file);
  if (source.kind === 'text') {
    const { readFileSync } = await import('node:fs');
    // The published files begin with a warning against training on them, up to a line of dashes.
    const text = readFileSync(found, 'utf8')
      .split(/^-{5,}\n/m)
      .at(-1)!
      .trimEnd();
    return (_, shots) => ({ items: [], text: shots > 0 ? text : null });
  }
  const items: Item[] = [];
  for await (const row of readRows(found)) items.push(task.read!(row, choice));
  return (item, shots) => {
    const own = items.filter((example) => item.judge !== 'choice' || example.category === item.category);
    return { items: own.filter(({ id }) => id !== item.id || found !== file).slice(0, shots), text: null };
  };
}

async function locateExamples(
  { task, data }: DataChoice,
  source: ExampleSource,
  file: string,
): Promise<string> {
  const folders = [path.dirname(file), path.dirname(path.dirname(file))];
  for (const name of source.files) {
    for (const folder of folders) {
      for (const candidate of [path.join(folder, name), path.join(folder, path.basename(name))]) {
        if (existsSync(candidate) && path.resolve(candidate) !== path.resolve(file)) return candidate;
      }
    }
  }
  let failure: unknown = null;
  if (data === null && task.source.kind === 'hub') {
    try {
      const hub = await hubFile(task.source.hub, source.files.slice(0, 1));
      if (hub !== null) return hub.path;
    } catch (cause) {
      failure = cause;
    }
  }
  throw new VfError('VF_DATA_MISSING', `no worked examples for ${task.name} beside ${file}`, {
    expected: `${source.files[0]} of the same data set`,
    hint: 'put it beside the data file, or ask without examples: --few-shot 0',
    cause: failure,
  });
}
