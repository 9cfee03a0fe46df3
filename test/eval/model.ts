/** A random model of the tiny recipe's shape, in a folder: replies without sense, but replies. */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { recipeByName } from '../../src/recipe/recipes.js';
import { startFiles } from '../../src/recipe/start-files.js';

/** Writes the model's folder and returns it. */
export function randomModel(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const [file, content] of Object.entries(startFiles(recipeByName('tiny'), 5))) {
    writeFileSync(path.join(folder, file), content);
  }
  return folder;
}
