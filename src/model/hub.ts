/** The Hugging Face hub: files in the standard cache, and their download. The only reader of the network. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { VfError } from '../errors.js';

export interface HubFile {
  type: 'dataset' | 'model';
  /** `owner/name`. */
  repo: string;
  /** In the repository. */
  path: string;
}

export interface StoredFile {
  path: string;
  /** The snapshot's folder name: a commit. */
  revision: string;
}

/** Where other programs keep it too: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub. */
async function storageFolder({ type, repo }: HubFile): Promise<string> {
  const { getHFHubCachePath, getRepoFolderName } = await import('@huggingface/hub');
  return join(getHFHubCachePath(), getRepoFolderName({ type, name: repo }));
}

/** The file in the cache, of the newest snapshot that has it, or null. Asks no network. */
export async function cachedHubFile(file: HubFile): Promise<StoredFile | null> {
  const snapshots = join(await storageFolder(file), 'snapshots');
  if (!existsSync(snapshots)) return null;
  const found = readdirSync(snapshots)
    .map((revision) => ({ revision, path: join(snapshots, revision, file.path) }))
    .filter(({ path }) => existsSync(path))
    .sort((a, b) => statSync(b.path).mtimeMs - statSync(a.path).mtimeMs);
  return found[0] ?? null;
}

/** Milliseconds the hub has to begin an answer. */
const PATIENCE_MS = 20_000;

/**
 * Downloads one file into the cache; a broken download starts again from nothing, and no hash is checked.
 * @throws VF_HUB when the hub can't be reached, refuses, or does not have it.
 */
export async function downloadHubFile(file: HubFile): Promise<StoredFile> {
  const { downloadFileToCacheDir } = await import('@huggingface/hub');
  const token = process.env.HF_TOKEN;
  // The library announces downloads by console.debug, which writes to stdout: that is for data alone.
  const { debug } = console;
  console.debug = () => {};
  try {
    const path = await downloadFileToCacheDir({
      repo: { type: file.type, name: file.repo },
      path: file.path,
      fetch: impatient,
      ...(token === undefined || token === '' ? {} : { accessToken: token }),
    });
    const inside = path.split(/[\\/]snapshots[\\/]/).at(-1)!;
    return { path, revision: inside.split(/[\\/]/)[0]! };
  } catch (cause) {
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    throw new VfError('VF_HUB', `can't download ${file.path} of ${file.repo}: ${reason}`, { cause });
  } finally {
    console.debug = debug;
  }
}

/** Whether the user has forbidden the network (HF_HUB_OFFLINE, as other programs read it). */
export function isOffline(): boolean {
  return /^(1|true|on|yes)$/i.test(process.env.HF_HUB_OFFLINE ?? '');
}

/** Gives up when no answer begins in time; a download that has begun takes as long as it takes. */
async function impatient(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error('the hub does not answer')), PATIENCE_MS);
  try {
    return await fetch(input, { ...init, signal: abort.signal });
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: Error): string {
  const { statusCode } = error as { statusCode?: number };
  if (statusCode === 401 || statusCode === 403) return `access refused (${statusCode})`;
  if (statusCode === 404) return 'not found there';
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
