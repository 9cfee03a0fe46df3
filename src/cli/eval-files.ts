/** Files of an evaluation: replies.jsonl, read back whole, and the hash of the code that judges them. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { VfError } from '../errors.js';
import { packageRoot } from '../native/binding.js';
import type { ReplyRow } from '../run/evaluation.js';
import { RUN_FILES } from '../run/folder.js';

/** The replies of a run's folder or of a file. @throws VF_DATA with file and line for a line that is no reply. */
export function readReplies(given: string): ReplyRow[] {
  const file =
    existsSync(given) && statSync(given).isDirectory() ? path.join(given, RUN_FILES.replies) : given;
  if (!existsSync(file)) {
    throw new VfError('VF_NO_REPLIES', `there are no replies in ${given}`, {
      expected: 'the folder of a vf eval run, or its replies.jsonl',
      hint: '`vf runs list` shows the runs here',
    });
  }
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((text, i) => (text === '' ? [] : [replyOf(text, file, i + 1)]));
}

/** The whole replies that a killed run left; a torn last line is cut off the file. */
export function keptReplies(folder: string): ReplyRow[] {
  const file = path.join(folder, RUN_FILES.replies);
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) truncateSync(file, whole);
  return readReplies(folder);
}

function replyOf(text: string, file: string, line: number): ReplyRow {
  const place = { file, line, text: text.slice(0, 200) };
  let row: Partial<ReplyRow>;
  try {
    row = JSON.parse(text) as Partial<ReplyRow>;
  } catch (cause) {
    throw new VfError('VF_DATA', `line ${line} of ${path.basename(file)} is not JSON`, { ...place, cause });
  }
  const { task, index, sample, text: reply, answers, ids } = row;
  const whole = typeof task === 'string' && typeof reply === 'string' && Array.isArray(ids);
  if (whole && Array.isArray(answers) && typeof index === 'number' && typeof sample === 'number') {
    return row as ReplyRow;
  }
  throw new VfError('VF_DATA', `line ${line} of ${path.basename(file)} is no reply of vf eval`, {
    ...place,
    expected: 'task, index, sample, answers, ids and text, as vf eval writes them',
  });
}

/** SHA-256 over the sources that read and judge answers: reports with the same hash judge alike. */
export function extractorHash(): string {
  const root = path.join(packageRoot, 'src');
  const text = readdirSync(path.join(root, 'text'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join('text', name));
  const files = [...text, path.join('eval', 'judge.ts'), path.join('eval', 'stated.ts')];
  const hash = createHash('sha256');
  for (const name of files.sort()) hash.update(`${name}\0`).update(readFileSync(path.join(root, name)));
  return hash.digest('hex');
}
