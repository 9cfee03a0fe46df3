/** Tasks on files of the published schemas: parquet, JSONL and CSV, read as they are found. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parquetWriteFile } from 'hyparquet-writer/src/node.js';
import { openExamples, openTaskData } from '../../src/cli/eval-data.js';
import type { VfError } from '../../src/errors.js';
import { judgeReply } from '../../src/eval/judge.js';
import { TASKS, taskByName } from '../../src/eval/tasks/all.js';
import { optionOrder } from '../../src/eval/tasks/gpqa.js';
import { scratch } from '../scratch.js';

const root = scratch('tasks');

const choice = (name: string, data: string | null, seed = 1) => ({
  task: taskByName(name),
  data,
  map: {},
  seed,
  limit: 0,
});

interface MmluRow {
  id: number;
  question: string;
  options: string[];
  index: number;
  category: string;
  cot?: string;
}

/** MMLU-Pro's columns and types. */
function writeMmluPro(file: string, rows: readonly MmluRow[]): void {
  mkdirSync(path.dirname(file), { recursive: true });
  parquetWriteFile({
    filename: file,
    columnData: [
      { name: 'question_id', data: rows.map(({ id }) => BigInt(id)), type: 'INT64' },
      { name: 'question', data: rows.map(({ question }) => question), type: 'STRING' },
      { name: 'options', data: rows.map(({ options }) => options) },
      { name: 'answer', data: rows.map(({ index }) => String.fromCharCode(65 + index)), type: 'STRING' },
      { name: 'answer_index', data: rows.map(({ index }) => BigInt(index)), type: 'INT64' },
      { name: 'cot_content', data: rows.map(({ cot }) => cot ?? ''), type: 'STRING' },
      { name: 'category', data: rows.map(({ category }) => category), type: 'STRING' },
      { name: 'src', data: rows.map(() => 'ori_mmlu'), type: 'STRING' },
    ],
  });
}

const mmlu = path.join(root, 'mmlu');
const testFile = path.join(mmlu, 'data', 'test-00000-of-00001.parquet');
writeMmluPro(testFile, [
  {
    id: 70,
    question: ' Which? ',
    options: ['one ', ' two', 'N/A', 'N/A', 'three'],
    index: 4,
    category: 'law',
  },
  { id: 71, question: 'What?', options: ['x', 'y', 'z'], index: 1, category: 'math' },
]);
writeMmluPro(path.join(mmlu, 'data', 'validation-00000-of-00001.parquet'), [
  {
    id: 0,
    question: 'L?',
    options: ['a', 'b'],
    index: 0,
    category: 'law',
    cot: "A: Let's think step by step. It is a. The answer is (A).",
  },
  {
    id: 1,
    question: 'M?',
    options: ['a', 'b'],
    index: 1,
    category: 'math',
    cot: "A: Let's think step by step. The answer is (B).",
  },
]);

test('mmlu-pro: options are trimmed, N/A pads dropped, the gold letter follows', async () => {
  const { items, file, hash } = await openTaskData(choice('mmlu-pro', mmlu));
  assert.equal(file, testFile);
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.deepEqual(items, [
    {
      id: '70',
      question: 'Which?',
      options: ['one', 'two', 'three'],
      answers: ['C'],
      category: 'law',
      judge: 'choice',
    },
    {
      id: '71',
      question: 'What?',
      options: ['x', 'y', 'z'],
      answers: ['B'],
      category: 'math',
      judge: 'choice',
    },
  ]);
});

test("mmlu-pro: worked examples are those of the question's own subject", async () => {
  const { items, file } = await openTaskData(choice('mmlu-pro', testFile));
  const examplesFor = await openExamples(choice('mmlu-pro', testFile), file);
  const { items: own } = examplesFor(items[1]!, 5);
  assert.deepEqual(
    own.map(({ question, solution }) => [question, solution]),
    [['M?', "Answer: Let's think step by step. The answer is (B)."]],
  );
});

test('missing data is an error that says where to get them', async () => {
  await assert.rejects(openTaskData(choice('mmlu-pro', path.join(root, 'nowhere'))), (error: VfError) => {
    assert.equal(error.exitCode, 2);
    assert.match(error.message, /no data for mmlu-pro in .*nowhere/);
    assert.match(error.expected!, /data\/test-00000-of-00001\.parquet/);
    assert.match(error.hint!, /https:\/\/huggingface\.co\/datasets\/TIGER-Lab\/MMLU-Pro\/resolve\/main\//);
    return true;
  });
  const { hint } = (await openTaskData(choice('gpqa-diamond', root)).catch((e: unknown) => e)) as VfError;
  assert.match(hint!, /accept its terms there and set HF_TOKEN/);
});

test('the hub cache is read without a network; offline and empty is an error', async () => {
  const cache = path.join(root, 'cache');
  const snapshot = path.join(cache, 'datasets--TIGER-Lab--MMLU-Pro', 'snapshots', 'c0ffee', 'data');
  const before = { ...process.env };
  process.env.HF_HUB_CACHE = cache;
  process.env.HF_HUB_OFFLINE = '1';
  try {
    await assert.rejects(openTaskData(choice('mmlu-pro', null)), { code: 'VF_DATA_MISSING' });
    writeMmluPro(path.join(snapshot, 'test-00000-of-00001.parquet'), [
      { id: 1, question: 'Q', options: ['a', 'b'], index: 0, category: 'law' },
    ]);
    const { items, revision } = await openTaskData(choice('mmlu-pro', null));
    assert.deepEqual([items.length, revision], [1, 'c0ffee']);
  } finally {
    process.env = before;
  }
});

const gpqaRow = {
  'Record ID': 'rec1',
  Question: 'What is it?',
  'High-level domain': 'Physics',
  Subdomain: 'Optics',
};

test('gpqa: the order follows from seed and question and is kept with the item', async () => {
  const file = path.join(root, 'gpqa_diamond.csv');
  const columns = [
    ...Object.keys(gpqaRow),
    'Correct Answer',
    'Incorrect Answer 1',
    'Incorrect Answer 2',
    'Incorrect Answer 3',
  ];
  const values = [...Object.values(gpqaRow), 'right', '"wrong, 1"', 'wrong 2', ' wrong 3 '];
  writeFileSync(file, `${columns.join(',')}\n${values.join(',')}\n`);
  const stored = ['right', 'wrong, 1', 'wrong 2', 'wrong 3'];
  const orders = new Set<string>();
  for (let seed = 0; seed < 30; seed++) {
    const [item] = (await openTaskData(choice('gpqa-diamond', file, seed))).items;
    assert.deepEqual(
      item!.options,
      item!.order!.map((at) => stored[at]),
    );
    assert.equal(item!.options![item!.answers[0]!.charCodeAt(0) - 65], 'right');
    assert.deepEqual(item!.order, optionOrder(seed, 'What is it?', 4));
    orders.add(item!.order!.join(''));
  }
  assert.ok(orders.size > 12, `${orders.size} orders of 30 seeds`);
});

test('gpqa: every order is as frequent as another', () => {
  const counts = new Map<string, number>();
  for (let i = 0; i < 4800; i++) {
    const order = optionOrder(1, `question ${i}`, 4).join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(counts.size, 24);
  for (const [order, count] of counts) assert.ok(count > 140 && count < 260, `${order}: ${count}`);
});

test('supergpqa: letter, discipline and the finer groups', async () => {
  const file = path.join(root, 'SuperGPQA-all.jsonl');
  const row = {
    ...{ uuid: 'u1', question: 'Q?', options: ['a', 'b', 'c', 'd'], answer: 'c', answer_letter: 'C' },
    ...{ discipline: 'Law', field: 'Law', subfield: 'Civil Law', difficulty: 'hard', is_calculation: false },
  };
  writeFileSync(file, `${JSON.stringify(row)}\n`);
  const [item] = (await openTaskData(choice('supergpqa', file))).items;
  assert.deepEqual(item!.answers, ['C']);
  assert.deepEqual(item!.groups, { field: 'Law/Law', subfield: 'Law/Law/Civil Law', difficulty: 'hard' });
});

const ROWS: readonly { task: string; row: object; answers: string[]; good: string; bad: string }[] = [
  {
    task: 'math-500',
    row: {
      problem: 'P',
      solution: 's',
      answer: '\\frac{3}{4}',
      subject: 'Algebra',
      level: 2,
      unique_id: 'a/1',
    },
    answers: ['\\frac{3}{4}'],
    good: '\\boxed{0.75}',
    bad: '\\boxed{0.7}',
  },
  {
    task: 'gsm8k',
    row: { question: 'P', answer: 'Work.\n#### 1,234' },
    answers: ['1234'],
    good: 'So it is\n#### 1,234',
    bad: 'So 1234 was the number.',
  },
  {
    task: 'minerva',
    row: { problem: 'P', solution: 'so \\boxed{4.5e33}', type: 'Introduction to Astronomy' },
    answers: ['4.5e33'],
    good: '\\boxed{4.5 \\times 10^{33}}',
    bad: '\\boxed{4.5e32}',
  },
  {
    task: 'olympiadbench',
    row: {
      id: 7,
      question: 'P',
      final_answer: ['$2$', '$3$'],
      answer_type: 'Numerical',
      subfield: 'Algebra',
    },
    answers: ['$2$', '$3$'],
    good: '\\boxed{3}',
    bad: '\\boxed{4}',
  },
  {
    task: 'amc',
    row: { problem: 'P', answer: 27.0 },
    answers: ['27'],
    good: '\\boxed{27}',
    bad: '\\boxed{2.7}',
  },
  {
    task: 'aime24',
    row: { id: 60, problem: 'P', solution: 's', answer: '025', url: 'u', year: '2024' },
    answers: ['025'],
    good: '\\boxed{25}',
    bad: '\\boxed{250}',
  },
  {
    task: 'bbh:date_understanding',
    row: { input: 'When?\nOptions:\n(A) 1/1\n(B) 2/2\n(C) 3/3', target: '(B)' },
    answers: ['B'],
    good: 'The answer is (B).',
    bad: 'The answer is (C).',
  },
  {
    task: 'bbh:web_of_lies',
    row: { input: 'Does she?', target: 'No' },
    answers: ['No'],
    good: '\\boxed{no}',
    bad: '\\boxed{yes}',
  },
  {
    task: 'jsonl',
    row: { question: 'Q', answer: 'Sloth', options: ['Mouse', 'Sloth'] },
    answers: ['B'],
    good: '\\boxed{B}',
    bad: '\\boxed{A}',
  },
];

for (const { task, row, answers, good, bad } of ROWS) {
  test(`${task}: a row of the published form is read and judged`, async () => {
    const file = path.join(root, `${task.replace(':', '-')}.jsonl`);
    writeFileSync(file, `${JSON.stringify(row)}\n`);
    const [item] = (await openTaskData(choice(task, file))).items;
    assert.deepEqual(item!.answers, answers);
    assert.equal(judgeReply(item!, good).correct, true, good);
    assert.equal(judgeReply(item!, bad).correct, false, bad);
    assert.equal(judgeReply(item!, 'I do not know').answer, null);
  });
}

test('knights: puzzles follow from the seed, and answers are read in any order', async () => {
  const make = (seed: number) => openTaskData({ ...choice('knights', null, seed), limit: 8 });
  const { items, hash } = await make(3);
  assert.equal(hash, (await make(3)).hash);
  assert.notEqual(hash, (await make(4)).hash);
  assert.deepEqual(
    items.map(({ category }) => category),
    ['2 people', '3 people', '4 people', '5 people', '2 people', '3 people', '4 people', '5 people'],
  );
  const gold = items[1]!.answers[0]!;
  const turned = gold.split(', ').reverse().join(' and ');
  assert.equal(judgeReply(items[1]!, `<answer> \\boxed{${turned}} </answer>`).correct, true);
  const flipped = gold.replace(/knight|knave/, (word) => (word === 'knight' ? 'knave' : 'knight'));
  assert.equal(judgeReply(items[1]!, `\\boxed{${flipped}}`).correct, false);
});

test('a row of another form is an error with file and line', async () => {
  const file = path.join(root, 'wrong.jsonl');
  writeFileSync(file, '{"question": "Q", "options": ["a", "b"], "answer": "E", "category": "law"}\n');
  await assert.rejects(openTaskData(choice('mmlu-pro', file)), (error: VfError) => {
    assert.equal(error.message, 'row 1 of wrong.jsonl has answer E of 2 options');
    assert.deepEqual([error.place.file, error.place.line], [file, 1]);
    return true;
  });
});

test('an unknown task is an error with the nearest name', () => {
  assert.throws(() => taskByName('mmlupro'), { message: 'vf eval has no task "mmlupro"' });
  assert.equal(new Set(TASKS.map(({ metric }) => metric)).size, TASKS.length);
});
