/** OlympiadBench, its English text-only mathematics with open-ended answers (OE_TO_maths_en_COMP). */

import { columnText, freeItem } from '../rows.js';
import type { Task } from '../task.js';

export const olympiadBench: Task = {
  name: 'olympiadbench',
  metric: 'olympiadbench',
  about: 'OlympiadBench, OE_TO_maths_en_COMP',
  source: {
    kind: 'hub',
    hub: {
      repo: 'Hothan/OlympiadBench',
      files: [
        'OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet',
        'OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet',
      ],
    },
  },
  rows: 674,
  read(row) {
    const item = freeItem(row, {
      question: 'question',
      answer: 'final_answer',
      ...('subfield' in row.value ? { category: 'subfield' } : {}),
      ...('id' in row.value ? { id: 'id' } : {}),
    });
    return { ...item, groups: { type: columnText(row, 'answer_type') } };
  },
};
