/** `vf data filter | stats | patch | convert`: looks at files of questions and mends them. */

import { type OptionTable, pick } from '../../config/option.js';
import { BORDER_OPTIONS, DATA_OPTIONS } from '../../config/options/model.js';
import { OUTPUT_OPTIONS } from '../../config/options/run.js';
import { resolveTable } from '../../config/resolve.js';
import { type DropRule, filterQuestions } from '../../data/filter.js';
import { questionLine } from '../../data/load.js';
import { type TokenView, viewPatch } from '../../data/patch-view.js';
import { type DataStats, dataStats, type Spread } from '../../data/stats.js';
import { VfError } from '../../errors.js';
import { checkBorder } from '../../text/patch.js';
import { count, percent } from '../../ui/format.js';
import { oneLine, visible } from '../../ui/text.js';
import type { Call, CliCommand } from '../command.js';
import { writeErr, writeOut } from '../output.js';
import { openQuestions, openText, requireOut, writeLines } from '../question-files.js';
import { table } from '../table.js';

const SHARED = {
  ...pick(DATA_OPTIONS, 'map'),
  ...pick(BORDER_OPTIONS, 'template', 'border'),
  model: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'path',
    help: 'whose tokenizer and template count; bundled for the tiny model',
  },
  ...pick(OUTPUT_OPTIONS, 'json'),
} as const satisfies OptionTable;

const OUT = {
  type: 'text',
  default: null,
  transient: true,
  group: 'run',
  placeholder: 'file',
  help: 'JSONL to write; - for stdout',
} as const;

const FILTER = {
  ...SHARED,
  out: OUT,
  dropped: { ...OUT, help: 'JSONL of the dropped rows, each with its rule' },
  'max-answer-tokens': {
    type: 'integer',
    default: null,
    min: 1,
    group: 'model and data',
    unit: 'tokens',
    help: 'longest reference answer (the VeriFree paper: 7); needs --model',
  },
  'max-prompt-tokens': {
    type: 'integer',
    default: null,
    min: 1,
    group: 'model and data',
    unit: 'tokens',
    help: 'longest prompt, template included; needs --model',
  },
  categories: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'names',
    help: 'categories to keep, separated by commas',
  },
  duplicates: {
    type: 'flag',
    default: false,
    group: 'model and data',
    help: 'also drop questions that repeat an earlier one',
  },
  against: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'file',
    help: 'drop questions that this file holds too (an evaluation set)',
  },
} as const satisfies OptionTable;

const PATCH = {
  ...SHARED,
  row: {
    type: 'integer',
    default: 1,
    min: 1,
    group: 'model and data',
    help: 'which row, counted from 1',
  },
  trace: {
    type: 'text',
    default: null,
    group: 'model and data',
    placeholder: 'text',
    help: 'the trace to cut; a short one when left out',
  },
} as const satisfies OptionTable;

const CONVERT = { ...pick(DATA_OPTIONS, 'map'), ...pick(OUTPUT_OPTIONS, 'json'), out: OUT } as const;

async function runFilter({ args, flags }: Call): Promise<void> {
  const settings = resolveTable(FILTER, { flags, env: process.env });
  const { map, json, maxAnswerTokens, maxPromptTokens, categories, duplicates, against } = settings;
  const out = requireOut(settings.out, args[0]!, json);
  const { tokenizer, template } = await openText(settings);
  const questions = await openQuestions(args[0]!, map);
  const result = await filterQuestions(questions, {
    template,
    duplicates,
    ...(tokenizer === null ? {} : { tokenizer }),
    ...(maxAnswerTokens === null ? {} : { maxAnswerTokens }),
    ...(maxPromptTokens === null ? {} : { maxPromptTokens }),
    ...(categories === null ? {} : { categories: categories.split(',').map((name) => name.trim()) }),
    ...(against === null ? {} : { against: await openQuestions(against, {}) }),
  });
  writeLines(out, result.kept.map(questionLine));
  if (settings.dropped !== null) {
    const lines = result.dropped.map(({ question, rule, detail }) =>
      JSON.stringify({ ...JSON.parse(questionLine(question)), line: question.line, rule, detail }),
    );
    writeLines(settings.dropped, lines);
  }
  const { kept, counts, overlaps } = result;
  const report = { read: questions.length, kept: kept.length, dropped: counts, overlaps: overlaps.length };
  if (json) return writeOut(`${JSON.stringify({ ...report, out, categories: result.categories })}\n`);
  const rules = (Object.entries(counts) as [DropRule, number][]).filter(([, rows]) => rows > 0);
  writeErr(
    [
      `kept ${count(kept.length)} of ${count(questions.length)} rows${out === '-' ? '' : ` in ${out}`}`,
      ...rules.map(([rule, rows]) => `dropped ${count(rows)}: ${rule}`),
      ...(result.controlText.length === 0
        ? []
        : [
            `${count(result.controlText.length)} kept rows hold the text of a control token; it is read as plain text`,
          ]),
    ].join('\n') + '\n',
  );
}

async function runStats({ args, flags }: Call): Promise<void> {
  const settings = resolveTable(SHARED, { flags, env: process.env });
  const { tokenizer, template } = await openText(settings);
  const stats = await dataStats(
    await openQuestions(args[0]!, settings.map),
    template,
    tokenizer ?? undefined,
  );
  if (settings.json) return writeOut(`${JSON.stringify(stats)}\n`);
  writeOut(statsLines(stats).join('\n') + '\n');
}

function statsLines(stats: DataStats): string[] {
  const spreads: [string, Spread][] = [
    ['question, characters', stats.questionCharacters],
    ['answer, characters', stats.answerCharacters],
  ];
  if (stats.tokens !== undefined) {
    const { prompt, answer, patch } = stats.tokens;
    spreads.push(['prompt, tokens', prompt], ['answer, tokens', answer], ['patch, tokens', patch]);
  }
  const rows = spreads.map(([name, { min, median, p90, max }]) => [
    name,
    ...[min, median, p90, max].map((n) => count(n)),
  ]);
  return [
    `${count(stats.questions)} questions, ${count(stats.unlabeled)} without a reference answer, ${count(stats.severalAnswers)} with several`,
    `${count(stats.refusedAnswers)} with an answer that can't be patched in`,
    ...(stats.controlText ? [`${count(stats.controlText)} questions hold the text of a control token`] : []),
    '',
    ...table(['length', '>min', '>median', '>p90', '>max'], rows),
    '',
    ...table(
      ['category', '>questions', '>share'],
      stats.categories.map(({ category, after }) => [
        category,
        count(after),
        percent(after / stats.questions),
      ]),
    ),
  ];
}

async function runPatch({ args, flags }: Call): Promise<void> {
  const settings = resolveTable(PATCH, { flags, env: process.env });
  const { tokenizer, template } = await openText({ ...settings, model: settings.model ?? 'bundled' });
  const questions = await openQuestions(args[0]!, settings.map);
  const question = questions[settings.row - 1];
  if (question === undefined) {
    throw new VfError(
      'VF_INVALID_VALUE',
      `Expected a row from 1 to ${questions.length} for --row but received ${settings.row}`,
    );
  }
  const view = await viewPatch(tokenizer!, template, question, settings.trace ?? undefined);
  const border = checkBorder(tokenizer!, template);
  if (settings.json) return writeOut(`${JSON.stringify({ ...view, check: border })}\n`);
  writeOut(
    [
      `${question.file}:${question.line}  ${oneLine(question.question)}`,
      '',
      ...tokens('prompt', view.prompt),
      ...tokens('trace', view.trace),
      ...tokens('border', view.border),
      ...view.patches.flatMap(({ answer, refused, tokens: ids }) =>
        refused === null ? tokens('patch', ids) : [`patch   ${visible(answer)}: refused, ${refused}`],
      ),
    ].join('\n') + '\n',
  );
}

/** `border  [27 <] [9217 answer]`, with the number of tokens. */
function tokens(label: string, list: readonly TokenView[]): string[] {
  const shown = list.map(({ id, text }) => `[${id} ${oneLine(text)}]`).join(' ');
  return [`${label.padEnd(8)}${count(list.length)} tokens`, `        ${shown}`];
}

async function runConvert({ args, flags }: Call): Promise<void> {
  const { map, out: given, json } = resolveTable(CONVERT, { flags, env: process.env });
  const out = requireOut(given, args[0]!, json);
  const questions = await openQuestions(args[0]!, map);
  writeLines(out, questions.map(questionLine));
  if (json) return writeOut(`${JSON.stringify({ rows: questions.length, out })}\n`);
  writeErr(`${count(questions.length)} rows${out === '-' ? '' : ` in ${out}`}\n`);
}

const FILE = { name: 'FILE', help: 'questions: JSONL, CSV or parquet (vf help formats)' };

export const commands: readonly CliCommand[] = [
  {
    name: 'data filter',
    about:
      'Drops rows by named rules, counted: no or empty answer, tags in it, length, category, repeats, overlap.',
    arguments: [FILE],
    examples: [
      'vf data filter questions.jsonl --out kept.jsonl',
      'vf data filter questions.jsonl --model PATH --max-answer-tokens 7 --out -',
    ],
    options: FILTER,
    run: runFilter,
  },
  {
    name: 'data stats',
    about: 'Rows, categories and lengths; in tokens with --model.',
    arguments: [FILE],
    examples: ['vf data stats questions.jsonl', 'vf data stats questions.jsonl --model PATH --json'],
    options: SHARED,
    run: runStats,
  },
  {
    name: 'data patch',
    about: 'Shows one row as training sees it: the tokens of prompt, trace, border and patch.',
    arguments: [FILE],
    examples: [
      'vf data patch questions.jsonl --row 17 --model PATH',
      'vf data patch questions.jsonl --trace "So 8."',
    ],
    options: PATCH,
    run: runPatch,
  },
  {
    name: 'data convert',
    about: 'Any format that vf reads, as JSONL with the usual field names.',
    arguments: [FILE],
    examples: ['vf data convert test.parquet --map answer=solution --out test.jsonl'],
    options: CONVERT,
    run: runConvert,
  },
];
