/** Reads a YAML file of settings: flat keys, each with its place in the file. */

import { readFileSync } from 'node:fs';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { VfError } from '../errors.js';

export interface FileSetting {
  name: string;
  raw: unknown;
  file: string;
  line: number;
  column: number;
  /** The whole line, for messages. */
  text: string;
}

/** The settings of `file` in order, and what is wrong with its form. */
export function readSettingsFile(file: string): { settings: FileSetting[]; problems: VfError[] } {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (cause) {
    const message = `can't read the configuration ${file}: ${(cause as Error).message}`;
    const hint = 'give the path of a YAML file: --config run.yaml';
    return { settings: [], problems: [new VfError('VF_CONFIG_FILE', message, { file, hint, cause })] };
  }
  return parseSettings(source, file);
}

/** As readSettingsFile, from the file's text. */
export function parseSettings(
  source: string,
  file: string,
): { settings: FileSetting[]; problems: VfError[] } {
  const lines = source.split(/\r?\n/);
  const counter = new LineCounter();
  const document = parseDocument(source, { lineCounter: counter, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = counter.linePos(offset);
    return { file, line, column: col, text: lines[line - 1] ?? '' };
  };
  const problems = document.errors.map(
    (error) =>
      new VfError('VF_CONFIG_YAML', `${file} is not valid YAML: ${error.message}`, place(error.pos[0])),
  );
  const root = document.contents;
  if (problems.length > 0 || root === null) return { settings: [], problems };
  if (!isMap(root)) {
    const expected = 'lines of the form `name: value`';
    const at = place(root.range?.[0] ?? 0);
    problems.push(new VfError('VF_CONFIG_YAML', `${file} holds no settings`, { ...at, expected }));
    return { settings: [], problems };
  }
  const settings = root.items.map((item) => {
    const key = item.key;
    const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
    const value = item.value as { toJS(document: unknown): unknown } | null;
    const raw = value === null ? null : value.toJS(document);
    return { name: String(isScalar(key) ? key.value : key), raw, ...place(offset) };
  });
  return { settings, problems };
}
