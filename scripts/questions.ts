/** Writes the bundled question files of the recipes: `node --import tsx scripts/questions.ts`. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { questionFiles } from '../src/recipe/asset-files.js';

for (const [path, text] of Object.entries(questionFiles())) {
  const file = fileURLToPath(new URL(`../assets/${path}`, import.meta.url));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
