/** Policy: one loaded model. A thin face over the addon that turns its errors into VfError. */

import { VfError } from '../errors.js';
import { addon } from './binding.js';
import type {
  LoadArgs,
  LoadInfo,
  NativePolicy,
  Progress,
  SampleArgs,
  SampleResult,
  SaveArgs,
  ScoreArgs,
  ScoreResult,
  StepArgs,
  StepResult,
  TensorKind,
} from './types.js';

const EXIT_CODES: Record<string, 1 | 2 | 3> = {
  VF_MODEL_FILE: 2,
  VF_TOO_LONG: 2,
  VF_UNSUPPORTED: 3,
  VF_NO_DEVICE: 3,
  VF_OUT_OF_MEMORY: 3,
  VF_DISK_FULL: 3,
};

const HINTS: Record<string, string> = {
  VF_OUT_OF_MEMORY: 'lower --micro-batch-tokens, --max-tokens or --max-batch, or pass --recompute',
  VF_TOO_LONG: 'lower --max-tokens or drop long rows with `vf data filter --max-prompt-tokens N`',
  VF_NOT_FINITE: 'lower --lr, or look at the named trace in samples.jsonl',
  VF_DISK_FULL: 'free some space; the last complete checkpoint is untouched',
};

function translated(error: unknown): unknown {
  const code = (error as { code?: string }).code;
  if (!(error instanceof Error) || !code?.startsWith('VF_')) return error;
  return new VfError(code, error.message, {
    exitCode: EXIT_CODES[code] ?? 1,
    hint: HINTS[code],
    cause: error,
  });
}

/** One loaded model on one device. Verbs queue and run one at a time; close it when done. */
export class Policy {
  readonly #native: NativePolicy;

  private constructor(native: NativePolicy) {
    this.#native = native;
  }

  /** Loads a model. @throws VfError for a file, device or memory that fails. */
  static async load(args: LoadArgs): Promise<Policy> {
    try {
      return new Policy(await addon().load(args));
    } catch (error) {
      throw translated(error);
    }
  }

  get info(): LoadInfo {
    return this.#native.info;
  }

  /** Samples traces; see SampleArgs. */
  sample(args: SampleArgs): Promise<SampleResult> {
    return this.#run(() => this.#native.sample(args));
  }

  /** Log-probs of given ids by the training forward. */
  score(args: ScoreArgs): Promise<ScoreResult> {
    return this.#run(() => this.#native.score(args));
  }

  /** One training step: all its updates. */
  step(args: StepArgs): Promise<StepResult> {
    return this.#run(() => this.#native.step(args));
  }

  /** Writes tensors to one safetensors file and syncs it. */
  save(args: SaveArgs): Promise<void> {
    return this.#run(() => this.#native.save(args));
  }

  /** One tensor's numbers. */
  tensor(kind: TensorKind, name: string): Promise<Float32Array> {
    return this.#run(() => this.#native.tensor(kind, name));
  }

  progress(): Progress {
    return this.#native.progress();
  }

  /** Ends the verb in progress with VF_CANCELLED at its next safe point. */
  cancel(): void {
    this.#native.cancel();
  }

  close(): Promise<void> {
    return this.#run(() => this.#native.close());
  }

  async #run<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw translated(error);
    }
  }
}
