/** `vf eval rescore` and `vf eval compare`: stored replies judged again and compared, without a model. */

import { resolveConfig } from '../config/resolve.js';
import { VfError } from '../errors.js';
import { compareReplies } from '../eval/compare.js';
import { type CompatRule, compatScores } from '../eval/compat.js';
import { judgeAgain } from '../eval/judge.js';
import { scoreReplies } from '../eval/score.js';
import { extractorHash, readReplies } from './eval-files.js';
import { comparisonTable, scoreTable } from './eval-table.js';
import { writeErr, writeOut } from './output.js';

/** `vf eval rescore FILE…`: the verdicts of today's rules on stored replies, and how many changed. */
export async function rescoreEval(
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { settings } = resolveConfig('eval', { flags, env: process.env });
  if (files.length === 0) {
    throw new VfError('VF_USAGE', 'vf eval rescore needs a replies.jsonl or the folder of an evaluation');
  }
  const results = files.map((file) => {
    const stored = readReplies(file);
    const rows = judgeAgain(stored);
    const changed = rows.filter((row, i) => {
      const before = stored[i]!;
      return row.answer !== before.answer || row.correct !== before.correct;
    }).length;
    const names = [...new Set(rows.map(({ task }) => task))];
    const tasks = names.map((task) => {
      const own = rows.filter((row) => row.task === task);
      const compat =
        settings.compat === 'none' ? {} : compatScores(settings.compat as CompatRule, own, settings.seed);
      return { task, ...scoreReplies(own), compat };
    });
    return { file, replies: rows.length, changed, extractor: extractorHash(), tasks };
  });
  if (settings.json) return writeOut(`${JSON.stringify({ results })}\n`);
  for (const { file, replies, changed, tasks } of results) {
    writeErr(`${file}: ${replies} replies, ${changed} verdicts changed\n`);
    writeOut(`${scoreTable(tasks).join('\n')}\n`);
  }
}

/** `vf eval compare A B`: question by question, with a paired test a task. */
export async function compareEvals(
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { settings } = resolveConfig('eval', { flags, env: process.env });
  const [a, b, ...more] = files;
  if (a === undefined || b === undefined || more.length > 0) {
    throw new VfError('VF_USAGE', 'vf eval compare needs two evaluations', {
      hint: 'vf eval compare RUN_A RUN_B; each is a run folder or a replies.jsonl',
    });
  }
  // Both sides are judged by the same rules, whenever they were sampled.
  const comparisons = compareReplies(judgeAgain(readReplies(a)), judgeAgain(readReplies(b)));
  if (comparisons.length === 0) {
    throw new VfError('VF_NO_REPLIES', `${a} and ${b} have no task in common`);
  }
  if (settings.json) return writeOut(`${JSON.stringify({ a, b, comparisons })}\n`);
  writeOut(`A ${a}\nB ${b}\n${comparisonTable(comparisons).join('\n')}\n`);
}
