/** Writes report.html of a run. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { EvaluationReport } from '../run/evaluation.js';
import { RUN_FILES } from '../run/folder.js';
import { renderEvalReport } from '../ui/eval-report.js';
import { renderReport } from '../ui/report.js';
import { readReplies } from './eval-files.js';
import { lastSamples, readRun } from './run-record.js';

/** Groups of traces that a report shows. */
const SHOWN_SAMPLES = 8;

/** Path of the report of the run in `folder`, written or not. */
export function reportPath(folder: string): string {
  return path.join(folder, RUN_FILES.report);
}

/** Renders the run as its files stand and returns the report's path; an evaluation with scores has its own form. */
export function writeReport(folder: string): string {
  const file = reportPath(folder);
  const scores = path.join(folder, RUN_FILES.scores);
  const run = readRun(folder);
  if (existsSync(scores)) {
    const report = JSON.parse(readFileSync(scores, 'utf8')) as EvaluationReport;
    writeFileSync(file, renderEvalReport(report, readReplies(folder), run.settings, run.origins));
  } else {
    writeFileSync(file, renderReport({ ...run, samples: lastSamples(folder, SHOWN_SAMPLES) }));
  }
  return file;
}
