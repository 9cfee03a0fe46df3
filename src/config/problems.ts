/** All problems of a configuration as one error, so that a user mends them in one go. */

import { VfError } from '../errors.js';

/** Several failures at once; each is shown in the usual form. `exitCode` is 2. */
export class ConfigError extends VfError {
  readonly problems: readonly VfError[];

  constructor(problems: readonly VfError[]) {
    const list = problems.map((problem) => problem.message).join('; ');
    super('VF_CONFIG', `${problems.length} problems in the configuration: ${list}`);
    this.problems = problems;
  }
}

/** Throws nothing for no problem, the problem itself for one, a ConfigError for more. */
export function throwProblems(problems: readonly VfError[]): void {
  if (problems.length === 1) throw problems[0];
  if (problems.length > 1) throw new ConfigError(problems);
}
