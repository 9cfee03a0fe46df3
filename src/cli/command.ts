/** A command of `vf` as data: what the parser, the help and the dispatcher need to know of it. */

import type { OptionTable } from '../config/option.js';

export interface Call {
  /** Positional arguments. */
  args: string[];
  /** Given flags, by name; unchecked text (or true and false). */
  flags: Readonly<Record<string, unknown>>;
}

export interface Argument {
  /** In capitals, as in the usage line. */
  name: string;
  help: string;
  optional?: boolean;
  many?: boolean;
}

export interface CliCommand {
  /** As typed after `vf`: `train`, `runs list`. */
  name: string;
  /** One sentence. */
  about: string;
  arguments?: readonly Argument[];
  /** Command lines, shown first. */
  examples: readonly string[];
  options: OptionTable;
  /** Longer text below the options. */
  notes?: string;
  /** Under --json it prints RunEvents, and a failure is an `end` event. */
  streams?: boolean;
  run(call: Call): Promise<void>;
}

/** What a module under commands/ exports: one command, or several below one word. */
export interface CommandModule {
  commands: readonly CliCommand[];
}
