/** Option: one setting of a command; its name is the flag (`--name`), the YAML key and (VF_NAME) the environment variable. */

/** Sections of a command's help, in the order shown. */
export const GROUPS = [
  'model and data',
  'sampling',
  'objective',
  'voting',
  'verifier',
  'optimizer',
  'evaluation',
  'run',
] as const;
export type Group = (typeof GROUPS)[number];

interface OptionBase {
  /** One line for the help; no final stop. */
  help: string;
  group: Group;
  /** Shown after the default: tokens, steps, seconds. */
  unit?: string;
  /** Only under `--help-all`. */
  rare?: boolean;
  /** About this call only: a flag or VF_*, never stored with a run, and in no file unless `inFile`. */
  transient?: boolean;
  inFile?: boolean;
  /** May differ from the stored value when a run is resumed; `constant`: with a constant schedule only. */
  onResume?: 'free' | 'constant';
  /** What stands for the value in the help; the type's own word when left out. */
  placeholder?: string;
}

export interface NumberOption extends OptionBase {
  type: 'number' | 'integer';
  default: number | string | null;
  /** Least and greatest allowed value; `above` and `below` exclude their bound. */
  min?: number;
  max?: number;
  above?: number;
  below?: number;
  /** Words allowed instead of a number. */
  words?: readonly string[];
}
export interface ChoiceOption extends OptionBase {
  type: 'choice';
  choices: readonly string[];
  default: string;
}
export interface TextOption extends OptionBase {
  type: 'text';
  default: string | null;
}
export interface FlagOption extends OptionBase {
  type: 'flag';
  default: boolean;
}
/** `--map a=b --map c=d`, or a mapping in YAML. */
export interface PairsOption extends OptionBase {
  type: 'pairs';
  default: Readonly<Record<string, string>>;
}

export type Option = NumberOption | ChoiceOption | TextOption | FlagOption | PairsOption;
export type OptionTable = Readonly<Record<string, Option>>;
export type Value = number | string | boolean | null | Readonly<Record<string, string>>;

type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;

type ValueOf<O> = O extends { type: 'flag' }
  ? boolean
  : O extends { type: 'pairs' }
    ? Readonly<Record<string, string>>
    : O extends { type: 'choice'; choices: readonly (infer C)[] }
      ? C
      : O extends { type: 'number' | 'integer' }
        ? number | (O extends { words: readonly (infer W)[] } ? W : never) | NullOf<O>
        : string | NullOf<O>;
type NullOf<O> = O extends { default: null } ? null : never;

/** The typed settings of a table: `group-size` is read as `settings.groupSize`. */
export type Settings<T extends OptionTable> = { [K in keyof T & string as Camel<K>]: ValueOf<T[K]> };

/** `group-size` → `groupSize`. */
export function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `group-size` → `VF_GROUP_SIZE`. */
export function envName(name: string): string {
  return 'VF_' + name.toUpperCase().replaceAll('-', '_');
}

/** The same options with other defaults (a command's own view of a shared table). */
export function withDefaults<T extends OptionTable>(
  table: T,
  defaults: { [K in keyof T]?: ValueOf<T[K]> },
): T {
  const changed = Object.entries(table).map(([name, option]) => [
    name,
    name in defaults ? { ...option, default: defaults[name as keyof T] } : option,
  ]);
  return Object.fromEntries(changed) as T;
}

/** The options of `table` whose names are listed, in the table's order. */
export function pick<T extends OptionTable, K extends keyof T & string>(table: T, ...names: K[]): Pick<T, K> {
  const kept = Object.entries(table).filter(([name]) => (names as string[]).includes(name));
  return Object.fromEntries(kept) as Pick<T, K>;
}
