/** Writes report.html of a run. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { RUN_FILES } from '../run/folder.js';
import { renderReport } from '../ui/report.js';
import { lastSamples, readRun } from './run-record.js';

/** Groups of traces that a report shows. */
const SHOWN_SAMPLES = 8;

/** Path of the report of the run in `folder`, written or not. */
export function reportPath(folder: string): string {
  return path.join(folder, RUN_FILES.report);
}

/** Renders the run as its files stand and returns the report's path. */
export function writeReport(folder: string): string {
  const file = reportPath(folder);
  writeFileSync(file, renderReport({ ...readRun(folder), samples: lastSamples(folder, SHOWN_SAMPLES) }));
  return file;
}
