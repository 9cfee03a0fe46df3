/** GPQA: the right answer and three wrong ones; the order shown follows from a hash of seed and question. */

import { createHash } from 'node:crypto';
import { columnText, letterOf, requireText } from '../rows.js';
import type { Task } from '../task.js';

/** The order in which `count` options are shown: permutation number SHA-256(seed, question) modulo count!. */
export function optionOrder(seed: number, question: string, count: number): number[] {
  const hash = createHash('sha256').update(`${seed}\n${question}`).digest('hex');
  let index = BigInt(`0x${hash}`);
  const left = Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: count }, () => {
    const size = BigInt(left.length);
    const at = Number(index % size);
    index /= size;
    return left.splice(at, 1)[0]!;
  });
}

function gpqa(subset: 'diamond' | 'main' | 'extended', rows: number): Task {
  return {
    name: `gpqa-${subset}`,
    metric: `gpqa-${subset}`,
    about: `GPQA ${subset}, four options`,
    source: {
      kind: 'hub',
      hub: {
        repo: 'Idavidrein/gpqa',
        files: [`gpqa_${subset}.csv`],
        gated: 'accept its terms there and set HF_TOKEN to a token that may read it',
      },
    },
    rows,
    read(row, { seed }) {
      const question = requireText(row, 'Question');
      const stored = [
        requireText(row, 'Correct Answer'),
        ...[1, 2, 3].map((i) => requireText(row, `Incorrect Answer ${i}`)),
      ];
      const order = optionOrder(seed, question, stored.length);
      return {
        id: columnText(row, 'Record ID') || String(row.line),
        question,
        options: order.map((index) => stored[index]!),
        order,
        answers: [letterOf(order.indexOf(0))],
        category: columnText(row, 'High-level domain'),
        groups: { subdomain: columnText(row, 'Subdomain') },
        judge: 'choice',
      };
    },
  };
}

export const gpqaTasks: readonly Task[] = [gpqa('diamond', 198), gpqa('main', 448), gpqa('extended', 546)];
