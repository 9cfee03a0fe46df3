/** Batch sizes where `--max-batch` and `--micro-batch-tokens` leave the choice to the engine. */

/** Traces of a training step decoded together. */
export const DEFAULT_BATCH = 128;

/** Tokens of a training or scoring pass. */
export const DEFAULT_MICRO_BATCH = 4096;
