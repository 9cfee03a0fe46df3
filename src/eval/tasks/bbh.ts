/** BIG-Bench-Hard, one task at a time (`bbh:date_understanding`): letters, numbers, yes or no. */

import { optionTextsIn } from '../options-in-text.js';
import { freeItem } from '../rows.js';
import type { Task } from '../task.js';

/** The task of one BBH file. */
export function bbh(name: string): Task {
  return {
    name: `bbh:${name}`,
    metric: `bbh:${name}`,
    about: 'one task of BIG-Bench-Hard, such as bbh:date_understanding',
    source: {
      kind: 'hub',
      hub: { repo: 'lukaemon/bbh', files: [`${name}/test-00000-of-00001.parquet`, `${name}.json`] },
    },
    rows: null,
    read(row) {
      const item = freeItem(row, { question: 'input', answer: 'target' });
      const letter = /^\(([A-Z])\)$/.exec(item.answers[0]!)?.[1];
      if (letter === undefined) return item;
      const options = optionTextsIn(item.question);
      if (letter.charCodeAt(0) - 65 >= options.length) return item;
      return { ...item, answers: [letter], options, optionsInQuestion: true, judge: 'choice' };
    },
    examples: { kind: 'text', files: [`cot-prompts/${name}.txt`, `../cot-prompts/${name}.txt`], shots: 3 },
  };
}
