/** Loads the native addon: the only place that knows where `vf.node` lies. */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VfError } from '../errors.js';
import type { NativeAddon } from './types.js';

/** The package's own folder: holds assets/, build/ and package.json. */
export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

let loaded: NativeAddon | undefined;

/** Files the addon may be in, in the order they are tried. */
export function addonCandidates(): string[] {
  const named = process.env.VF_NATIVE_PATH;
  return [
    ...(named ? [named] : []),
    join(packageRoot, 'build', 'Release', 'vf.node'),
    join(packageRoot, 'build', 'vf.node'),
  ];
}

/**
 * The addon; loaded once a process.
 * @throws VfError VF_NO_ADDON (exit 3) with the reason of every attempt and numbered remedies.
 */
export function addon(): NativeAddon {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const reasons: string[] = [];
  for (const file of addonCandidates()) {
    if (!existsSync(file)) {
      reasons.push(`${file}: not there`);
      continue;
    }
    try {
      loaded = require(file) as NativeAddon;
      return loaded;
    } catch (error) {
      reasons.push(`${file}: ${(error as Error).message}`);
    }
  }
  throw new VfError(
    'VF_NO_ADDON',
    `Expected the native engine (vf.node) but found none\n  ${reasons.join('\n  ')}`,
    {
      exitCode: 3,
      hint: '1. build it: `vf build`  2. a compiler may be missing: `vf doctor` lists what is  3. name one: VF_NATIVE_PATH=FILE',
    },
  );
}
