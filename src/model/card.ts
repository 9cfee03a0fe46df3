/** README.md of a saved model: where it comes from, how it was trained, what was measured. */

export interface CardFacts {
  /** The folder's or run's name. */
  name: string;
  /** What it was trained from: a hub id or a folder's name. */
  base: string;
  /** `vf train`, `vf ttrl`, `vf sft`, `vf model init`. */
  command: string;
  /** One sentence on the method, with its equation where it has one. */
  method: string;
  version: string;
  step: number;
  seed: number | bigint;
  /** Name and SHA-256 of the data. */
  data?: { name: string; hash: string; questions: number };
  /** Effective settings that shape the result, flag by flag. */
  settings: Record<string, string | number | boolean | null>;
  /** Measured figures by name, such as `eval/bundled-validation/accuracy`. */
  metrics: Record<string, number>;
  /** The exact border and patch that the model was trained with. */
  format: { template: string; border: string; opening: string; closing: string };
}

/** The card's Markdown. Nothing in it is guessed: absent figures are absent. */
export function modelCard(facts: CardFacts): string {
  const { name, base, command, method, version, step, seed, data, settings, metrics, format } = facts;
  const patch = `${format.opening}REFERENCE${format.closing}`;
  const sections = [
    frontMatter(base),
    `# ${name}`,
    `${method} Made from ${base} by \`${command}\` (vf ${version}), step ${step}, seed ${seed}.`,
    data
      ? `Data: ${data.name}, ${data.questions.toLocaleString('en')} questions, SHA-256 \`${data.hash}\`.`
      : undefined,
    '## Format',
    `Template \`${format.template}\`. A trace ends at \`${format.border}\`; the answer follows as \`${patch}\`.`,
    Object.keys(metrics).length > 0 ? `## Measured\n\n${table('figure', metrics)}` : undefined,
    `## Settings\n\n${table('flag', settings)}`,
  ];
  return `${sections.filter((section) => section !== undefined).join('\n\n')}\n`;
}

function frontMatter(base: string): string {
  const hub = /^[\w.-]+\/[\w.-]+$/.test(base);
  const lines = [
    'library_name: transformers',
    'pipeline_tag: text-generation',
    ...(hub ? [`base_model: ${base}`] : []),
  ];
  return ['---', ...lines, 'tags:', '- vf', '- reinforcement-learning', '---'].join('\n');
}

function table(head: string, rows: Record<string, string | number | boolean | null>): string {
  const cell = (value: unknown): string => String(value).replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = Object.entries(rows).map(([key, value]) => `| \`${cell(key)}\` | ${cell(value)} |`);
  return [`| ${head} | value |`, '|---|---|', ...lines].join('\n');
}
