/** Reading questions: formats, field maps, exact numbers, and errors that name file and line. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { finalAnswer, parseFieldMap } from '../../src/data/fields.js';
import { hashData, type LoadOptions, loadQuestions, questionLine } from '../../src/data/load.js';
import type { VfError } from '../../src/errors.js';
import { scratch } from '../scratch.js';

const root = scratch('data');
let count = 0;

function file(content: string | Uint8Array, extension = 'jsonl'): string {
  const path = join(root, `${count++}.${extension}`);
  writeFileSync(path, content);
  return path;
}

const load = (path: string, maps: string[] = [], options: Partial<LoadOptions> = {}) =>
  loadQuestions(path, { answers: 'required', map: parseFieldMap(maps), ...options });
const answersOf = async (path: string, maps: string[] = []) =>
  (await load(path, maps)).map(({ answers }) => answers);

describe('JSONL', () => {
  test('gives questions with their lines; blank lines and a byte order mark are no rows (D01)', async () => {
    const path = file(
      '\ufeff{"question": "a?", "answer": "1", "category": "x"}\r\n\n{"problem": "b?", "answer": "2"}',
    );
    assert.deepEqual(await load(path), [
      { id: '1', question: 'a?', answers: ['1'], category: 'x', file: path, line: 1 },
      { id: '3', question: 'b?', answers: ['2'], category: '', file: path, line: 3 },
    ]);
  });

  test('numbers keep every digit, falsy answers are answers (D10, D16)', async () => {
    const rows = ['9007199254740993', '3.0', '1e3', '-0.50', '0', 'false', '"0"', '[7, "8"]'];
    const path = file(rows.map((answer) => `{"question": "q 1.0 \\"2\\"", "answer": ${answer}}`).join('\n'));
    assert.deepEqual(await answersOf(path), [
      ['9007199254740993'],
      ['3.0'],
      ['1e3'],
      ['-0.50'],
      ['0'],
      ['false'],
      ['0'],
      ['7', '8'],
    ]);
    assert.equal((await load(path))[0]?.question, 'q 1.0 "2"');
  });

  test('a row without answer is refused in the form of the manual', async () => {
    const line = '{"question": "What is 3 + 4?", "answer": " \\n"}';
    const path = file(`{"question": "q", "answer": "1"}\n${line}\n`);
    const error = (await load(path).catch((e: VfError) => e)) as VfError;
    assert.equal(error.message, `row 2 of ${basename(path)} has no reference answer`);
    assert.deepEqual(error.place, { file: path, line: 2, column: undefined, text: line });
    assert.equal(error.expected, 'a non-empty string in "answer"');
    assert.match(
      error.hint ?? '',
      /^drop such rows with `vf data filter \d+\.jsonl --out kept\.jsonl`, or name/,
    );
    assert.equal(error.exitCode, 2);
    assert.deepEqual((await load(path, [], { answers: 'optional' }))[1]?.answers, []);
  });

  test('invalid UTF-8, broken JSON and rows that are no objects name their line (D06)', async () => {
    const good = Buffer.from('{"question": "Сколько 한?", "answer": "1"}\n');
    assert.equal((await load(file(good)))[0]?.question, 'Сколько 한?');
    const bad = file(Buffer.concat([good, Buffer.from([0x7b, 0xff, 0x7d])]));
    await assert.rejects(load(bad), { code: 'VF_DATA', message: /^line 2 of .* is not valid UTF-8$/ });
    await assert.rejects(
      load(file(`${good}{"question": }`)),
      (e: VfError) => e.place.line === 2 && /JSON/.test(e.message),
    );
    await assert.rejects(load(file('[1]')), { message: /row 1 of .* is no JSON object/ });
    await assert.rejects(load(file('')), { message: /found no row/ });
    await assert.rejects(load(join(root, 'absent.jsonl')), {
      code: 'VF_DATA',
      message: /absent\.jsonl/,
      exitCode: 2,
    });
  });

  test('text that looks like a schema or a time stays text (D05)', async () => {
    const question = 'Fields: action: string, datetime: timestamp[s] 2024-01-01T00:00:00Z';
    const [row] = await load(file(JSON.stringify({ question, answer: '2024-01-01' })));
    assert.equal(row?.question, question);
    assert.deepEqual(row?.answers, ['2024-01-01']);
  });

  test('fields map by dotted path, and a wrong path lists the columns (D18)', async () => {
    const row = {
      prompt: [{ role: 'user', content: 'q?' }],
      reward_model: { ground_truth: 5 },
      meta: [[0, 4, 'x']],
    };
    const path = file(JSON.stringify(row));
    const map = ['question=prompt.0.content'];
    assert.deepEqual(
      (await load(path, map)).map((q) => [q.question, q.answers]),
      [['q?', ['5']]],
    );
    await assert.rejects(load(path, [...map, 'answer=solution']), {
      message: /Expected "solution" \(--map answer=solution\) in row 1/,
      hint: /prompt\.0\.role, prompt\.0\.content, reward_model\.ground_truth, meta\.0\.0/,
    });
    await assert.rejects(load(path), { hint: /map a path inside it: prompt\.0\.role, prompt\.0\.content/ });
    await assert.rejects(load(path, [...map, 'answer=meta.0.9']), { code: 'VF_DATA' });
    assert.throws(() => parseFieldMap(['reply=x']), { message: /--map/ });
    assert.throws(() => parseFieldMap(['answer=']), { message: /--map/ });
  });

  test("GSM8K's final line is the answer, without thousands commas", async () => {
    assert.equal(finalAnswer('48/2 = 24.\n#### 1,072'), '1072');
    assert.equal(finalAnswer('#### -3.5'), '-3.5');
    assert.equal(finalAnswer('a\n#### (1, 2)'), '(1, 2)');
    assert.equal(finalAnswer('no #### mark'), 'no #### mark');
  });

  test('options may be a list or letters, ids and categories come along, and a limit stops reading', async () => {
    const rows = [
      { question: 'a', answer: 'x', options: ['x', 'y'], id: 17, subject: 'math ' },
      { question: 'b', answer: 'y', options: { A: 'x', B: 2 } },
      { broken: true },
    ];
    const path = file(rows.map((row) => JSON.stringify(row)).join('\n'));
    const loaded = await load(path, [], { limit: 2 });
    assert.deepEqual(
      loaded.map(({ options }) => options),
      [
        ['x', 'y'],
        ['x', '2'],
      ],
    );
    assert.deepEqual([loaded[0]?.id, loaded[0]?.category], ['17', 'math ']);
    await assert.rejects(load(path), {
      message: /row 3 of .* has no question/,
      hint: /its columns are broken/,
    });
  });

  test('a line longer than a read chunk, cut in the middle of a character, comes back whole', async () => {
    const question = `${'x'.repeat((1 << 20) - 14)}한글${'é'.repeat(700_000)}`;
    const [row] = await load(file(`${JSON.stringify({ question, answer: '1' })}\n`));
    assert.equal(row?.question, question);
  });

  test('a question written as a line reads back the same', async () => {
    const rows = [
      { question: 'a\n"b"', answers: ['1'], id: 'i', category: 'c', options: ['1', '2'] },
      { question: 'q', answers: ['1', '2'], id: '9', category: '' },
    ];
    const path = file(rows.map((row) => questionLine({ ...row, file: '', line: 0 })).join('\n'));
    assert.deepEqual(
      (await load(path)).map(({ file: _, line: __, ...row }) => row),
      rows,
    );
    assert.match(await hashData(path), /^[0-9a-f]{64}$/);
  });
});

describe('CSV and JSON', () => {
  test('quotes, doubled quotes and line breaks in fields are data, as are numbers', async () => {
    const path = file('question,answer\r\n"a ""b"", c",007\r\n"two\nlines",1.50\r\n', 'csv');
    const rows = await load(path);
    assert.deepEqual(
      rows.map(({ question, answers, line }) => [question, answers[0], line]),
      [
        ['a "b", c', '007', 2],
        ['two\nlines', '1.50', 3],
      ],
    );
    assert.equal((await load(file('question\tanswer\na, b\tc\n', 'tsv')))[0]?.question, 'a, b');
  });

  test('a row of another length and an open quote are errors with their line', async () => {
    await assert.rejects(load(file('question,answer\nq,1\nq,1,2\n', 'csv')), {
      message: /line 3 .* has 3 fields, the header has 2/,
    });
    await assert.rejects(load(file('question,answer\n"q,1\n', 'csv')), { message: /opened at line 2/ });
  });

  test('a JSON array, or an object that holds one, is a list of rows with exact numbers', async () => {
    const path = file(
      '{"canary": "x", "examples": [{"input": "q", "target": 10000000000000000001}]}',
      'json',
    );
    assert.deepEqual(await answersOf(path), [['10000000000000000001']]);
    assert.deepEqual(await answersOf(file('[{"question": "q", "answer": 1.0}]', 'json')), [['1.0']]);
    await assert.rejects(load(file('{"a": 1}', 'json')), { message: /array of rows/ });
  });
});

describe('parquet', () => {
  const parquet = (columnData: Parameters<typeof parquetWriteBuffer>[0]['columnData'], schema?: object[]) =>
    file(
      new Uint8Array(parquetWriteBuffer({ columnData, ...(schema ? { schema: schema as never } : {}) })),
      'parquet',
    );

  test('strings, lists, int64 above 2^53 and nulls come out exactly', async () => {
    const path = parquet([
      { name: 'problem', data: ['a 한', 'b', 'c'], type: 'STRING' },
      { name: 'answer', data: [9007199254740993n, -1n, 0n], type: 'INT64' },
      { name: 'subject', data: ['x', null, 'y'], type: 'STRING', nullable: true },
    ]);
    const rows = await load(path);
    assert.deepEqual(
      rows.map(({ answers }) => answers[0]),
      ['9007199254740993', '-1', '0'],
    );
    assert.deepEqual(
      rows.map(({ category }) => category),
      ['x', '', 'y'],
    );
    assert.equal(rows[2]?.line, 3);
    assert.equal(rows[0]?.question, 'a 한');
  });

  test('negative and long decimals keep every digit (D11)', async () => {
    const decimal = { converted_type: 'DECIMAL', precision: 29, scale: 2, repetition_type: 'OPTIONAL' };
    const path = parquet(
      [
        { name: 'question', data: ['a', 'b', 'c'] },
        { name: 'answer', data: [-1234567n, 12345678901234567890123456789n, 5n] },
        { name: 'category', data: [-5n, 100n, null] },
      ],
      [
        { name: 'root', num_children: 3 },
        { name: 'question', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        { name: 'answer', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 13, ...decimal },
        { name: 'category', type: 'INT64', ...decimal, precision: 18 },
      ],
    );
    const rows = await load(path);
    assert.deepEqual(
      rows.map(({ answers, category }) => [answers[0], category]),
      [
        ['-12345.67', '-0.05'],
        ['123456789012345678901234567.89', '1.00'],
        ['0.05', ''],
      ],
    );
  });

  test('a wrong map lists the columns; a damaged file is named', async () => {
    const path = parquet([
      { name: 'problem', data: ['a'], type: 'STRING' },
      { name: 'gold', data: ['1'], type: 'STRING' },
      { name: 'level', data: [1], type: 'INT32' },
    ]);
    await assert.rejects(load(path), { message: /no reference answer/ });
    await assert.rejects(load(path, ['answer=solution']), { hint: 'its columns are problem, gold, level' });
    assert.deepEqual(await answersOf(path, ['answer=gold']), [['1']]);
    await assert.rejects(load(file('no parquet', 'parquet')), { code: 'VF_DATA', message: /PAR1|parquet/ });
  });

  test('a folder stands for its files in order', async () => {
    const folder = join(root, 'folder');
    mkdirSync(folder);
    for (const name of ['b', 'a'])
      writeFileSync(join(folder, `${name}.jsonl`), `{"question": "${name}", "answer": 1}\n`);
    assert.deepEqual(
      (await load(folder)).map(({ question }) => question),
      ['a', 'b'],
    );
    mkdirSync(join(folder, 'empty'));
    await assert.rejects(load(join(folder, 'empty')), { message: /found none of/ });
  });
});

test('GSM8K as published loads with bare numbers', {
  skip: !existsSync('../shared/data/gsm8k/test.jsonl'),
}, async () => {
  const rows = await load('../shared/data/gsm8k/test.jsonl');
  assert.equal(rows.length, 1319);
  assert.deepEqual(rows[0]?.answers, ['18']);
  assert.ok(rows.every(({ answers }) => /^-?[\d.]+$/.test(answers[0] ?? '')));
});
