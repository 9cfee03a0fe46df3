/** JSON whose numbers keep their source text: 9007199254740993 and 3.0 stay what the file says. */

/** A number as it stands in the file. */
export interface NumberText {
  [NUMBER]: string;
}

export type Exact = null | boolean | string | NumberText | Exact[] | { [key: string]: Exact };

const NUMBER = '\u0000number';

/** Parses text that JSON.parse has accepted; every number becomes a NumberText. */
export function parseExact(text: string): Exact {
  const wrapped = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (part) =>
    part.startsWith('"') ? part : `{"\\u0000number":"${part}"}`,
  );
  return JSON.parse(wrapped) as Exact;
}

/** The source text of a wrapped number; undefined for anything else. */
export function numberText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const text = (value as Record<string, unknown>)[NUMBER];
  return typeof text === 'string' ? text : undefined;
}
