/** Which version of the package this is. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../native/binding.js';

/** The version in package.json. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')).version;
}
