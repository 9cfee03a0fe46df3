/** Whether tests that need bubblewrap can run here; a skip says what to type. */

import { existsSync } from 'node:fs';

/** False where the sandbox's parts exist, else the reason for the skip. */
export const sandboxSkip: string | false =
  process.platform === 'linux' && ['/usr/bin/bwrap', '/usr/bin/python3', '/usr/bin/prlimit'].every(existsSync)
    ? false
    : 'bubblewrap or python3 is missing: apt-get install -y bubblewrap python3 python3-sympy';

/** Stand-in for the canonical key of answers that are whole numbers, fractions or words. */
export function plainKey(answer: string): string | null {
  const text = answer.trim();
  const fraction = /^(-?\d+)(?:\/(\d+))?$/.exec(text);
  if (fraction === null) return text === '' ? null : text;
  const [p, q] = [Number(fraction[1]), Number(fraction[2] ?? 1)];
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  const g = gcd(Math.abs(p), q) || 1;
  return q / g === 1 ? String(p / g) : `${p / g}/${q / g}`;
}
