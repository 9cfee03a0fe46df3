/** The addon's whole surface, field for field. Names here are the names in native/addon; nothing else crosses. */

export type Family = 'qwen3' | 'qwen2' | 'llama';

/** A decoder-only transformer as its config.json states it (RMSNorm, RoPE, grouped-query attention, SwiGLU). */
export interface ModelSpec {
  family: Family;
  layers: number;
  hidden: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffn: number;
  /** Rows of the embedding. */
  vocab: number;
  rmsEps: number;
  ropeTheta: number;
  ropeScaling:
    | { kind: 'none' }
    | { kind: 'linear'; factor: number }
    | {
        kind: 'llama3';
        factor: number;
        lowFreqFactor: number;
        highFreqFactor: number;
        originalPositions: number;
      };
  /** RMSNorm on every q and k head (Qwen3). */
  qkNorm: boolean;
  /** Bias on the q, k and v projections (Qwen2). */
  qkvBias: boolean;
  /** The LM head is the embedding. */
  tied: boolean;
  maxPositions: number;
}

export type TensorKind = 'weight' | 'grad' | 'm' | 'v';
export type TensorDtype = 'f32' | 'f16' | 'bf16';

/** Where one tensor's bytes lie. `name` is the Hugging Face name (`model.layers.0.self_attn.q_proj.weight`, …). */
export interface TensorSource {
  name: string;
  kind: 'weight' | 'm' | 'v';
  file: string;
  /** Byte offset in the file. */
  offset: number;
  dtype: TensorDtype;
  shape: number[];
}

export interface LoadArgs {
  spec: ModelSpec;
  tensors: TensorSource[];
  /** 'cpu' or 'cuda:<i>'; 'cuda-sim' in test builds. */
  device: string;
  dtype: 'f32' | 'bf16';
  /** CPU threads; ignored on a GPU. */
  threads: number;
  /** '' takes the best the CPU has; 'avx512', 'avx2' and 'base' are for tests. */
  isa: string;
  /** Raw bytes of every token id, concatenated; id i is bytes[offsets[i], offsets[i + 1]); a special token has its text. */
  tokenBytes: Uint8Array;
  tokenOffsets: Int32Array;
  /** Ids at or above this (padding rows of the embedding) are outside every softmax. */
  usableVocab: number;
  /** False: no gradient and no optimizer memory (evaluation, sampling). */
  trainable: boolean;
}

export interface LoadInfo {
  device: string;
  isa: string;
  threads: number;
  /** Which matrix products are in use: `own mma.sync products`. */
  products: string;
  parameters: number;
  weightBytes: number;
}

/** Ragged lists of ids: list i is ids[offsets[i], offsets[i + 1]). */
export interface Ragged {
  ids: Int32Array;
  offsets: Int32Array;
}

/** A random stream of DESIGN §4: purpose 0 policy, 1 verifier, 2 evaluation, 3 data order, 4 init. */
export interface StreamArgs {
  seed: bigint;
  purpose: number;
  step: number;
}

export interface SampleArgs {
  prompts: Ragged;
  /** [prompts] how many samples each prompt gets; they share its prefill. */
  samples: Int32Array;
  /** [prompts] index of the prompt's first sample in its stream (0, unless a group is continued). */
  firstSample: Int32Array;
  /** [prompts] the question's occurrence in the run: the third word of its stream. */
  occurrences: Int32Array;
  stream: StreamArgs;
  maxTokens: number;
  /** 0: greedy, log-probs at T = 1. */
  temperature: number;
  topP: number;
  topK: number;
  eosIds: Int32Array;
  /** UTF-8 bytes; empty: no border. A trace stops where a token ends exactly at it (finish 2) or runs past it (3). */
  border: Uint8Array;
  /** Ids appended after the last token of a trace without border, as if sampled (tests and benches); empty: none. */
  forceBorder: Int32Array;
  /** Stop strings, UTF-8; found anywhere in the completion's bytes. */
  stops: Uint8Array[];
  /** Continuations teacher-forced when a trace stops at its border; [prompts + 1] into `continuations`. */
  continuations: Ragged;
  continuationOffsets: Int32Array;
  /** Sequences decoded together; bounds memory, changes no result. */
  maxBatch: number;
}

export const FINISH = ['length', 'eos', 'border', 'overrun', 'stop'] as const;
export type Finish = (typeof FINISH)[number];

/** Traces in the order (prompt, sample). */
export interface SampleResult {
  tokens: Ragged;
  /** One a token of `tokens`: under the sampling temperature, before top-p and top-k. */
  logprobs: Float32Array;
  /** Index into FINISH. */
  finish: Uint8Array;
  /** Which stop string (finish 4), else -1. */
  stopIndex: Int32Array;
  /** Log-probs of the continuations of traces that stopped at the border, in order (trace, continuation). */
  continuationLogprobs: Float32Array;
  /** [traces + 1] into continuationLogprobs; empty for a trace without border. */
  continuationOffsets: Int32Array;
  prefillTokens: number;
  decodeTokens: number;
  continuationTokens: number;
  prefillSeconds: number;
  decodeSeconds: number;
  continuationSeconds: number;
}

/**
 * Packed sequences as a forest of segments: a segment's tokens follow its parent's, so a prompt shared by a group, or a
 * trace shared by several answers, stands (and is computed) once. A parent precedes its children.
 */
export interface PackedTree {
  tokens: Ragged;
  /** [segments] index of the parent segment, -1 for a root. */
  parents: Int32Array;
}

/** Span rows: (segment, start, end, role); tokens [start, end) of the segment are scored. The first token of a root can't be. */
export const SPAN_ROLE = { reasoning: 0, answer: 1 } as const;

export interface ScoreArgs {
  tree: PackedTree;
  /** [spans, 4] */
  spans: Int32Array;
  temperature: number;
  entropy: boolean;
  /** Rows (tokens) a forward pass takes at most; whole roots are never split. */
  microBatchTokens: number;
}

export interface ScoreResult {
  /** One a span token, in the order of spans. */
  logprobs: Float32Array;
  /** Empty unless asked for. */
  entropy: Float32Array;
  tokensComputed: number;
}

export type RewardKind = 'p' | 'p_mean' | 'logp' | 'given';
export type AdvantageKind = 'rloo' | 'mean' | 'none' | 'grpo' | 'given';
export type AnswerWeightKind = 'exact' | 'one' | 'advantage' | 'none';

export interface OptimizerArgs {
  lr: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
  /** Global gradient norm; 0: no clipping. */
  clipNorm: number;
  /** Updates made before this call: the bias correction's step. */
  updatesDone: number;
}

export interface StepArgs {
  tree: PackedTree;
  /** [spans, 4]; spans of one trace stand together, traces in order. */
  spans: Int32Array;
  /** [spans] the trace a span belongs to. */
  spanTrace: Int32Array;
  /** [groups + 1] into traces. A group is one question; its segments form one tree. */
  groupOffsets: Int32Array;
  /** [traces + 1] into continuations; a continuation's tokens are its trace's answer spans, in order. */
  continuationOffsets: Int32Array;
  /** [continuations + 1] into answerLogprobs. */
  answerOffsets: Int32Array;
  /** As `sample` returned them. Empty when rewards are given. */
  answerLogprobs: Float32Array;
  /** [traces] rewards ('given' reward) or advantages ('given' advantage); NaN: missing. Empty: none. */
  given: Float32Array;
  /** [spans] plain weights (supervised); then no reward is made. Empty: none. */
  spanWeights: Float32Array;
  /** One a span token. Empty: ratio 1 by definition (allowed with one update only). */
  oldLogprobs: Float32Array;
  /** One a span token, for the KL penalty. Empty: none. */
  refLogprobs: Float32Array;
  reward: RewardKind;
  rewardExponent: number;
  advantage: AdvantageKind;
  answerWeight: AnswerWeightKind;
  /** Divisor of every trace's terms, KL included (Dr. GRPO's constant); 1: none. */
  lengthDivisor: number;
  /** Mean over the traces, or over the span tokens, of a mini-batch. */
  normalize: 'traces' | 'tokens';
  /** Which terms count (probe and ablations). */
  terms: 'both' | 'reasoning' | 'answer';
  temperature: number;
  /** Negative: no clip. */
  clipLow: number;
  clipHigh: number;
  /** 0: none. */
  dualClip: number;
  klCoefficient: number;
  /** 0: none. */
  tisCap: number;
  epochs: number;
  /** Mini-batches an epoch, made of whole groups in order. */
  miniBatches: number;
  /** False: gradients and norms only (read them with `tensor`). */
  update: boolean;
  microBatchTokens: number;
  /** Keep only layer inputs and compute the rest again in the backward pass. */
  recompute: boolean;
  optimizer: OptimizerArgs;
}

export interface StepResult {
  /** [traces]; -Infinity without border, whatever stands in for it in the reward. Empty for supervised steps. */
  logReward: Float32Array;
  reward: Float32Array;
  advantage: Float32Array;
  /** [groups] 1 where a group gave no signal by rule. */
  skipped: Uint8Array;
  /** One a span token: this pass's log-probs in the first epoch. */
  logprobs: Float32Array;
  /** [updates] global norm before clipping. */
  gradNorms: Float64Array;
  /** Sum weight * logprob, clipped objective, and KL, after normalization, summed over updates. */
  weightedLogprob: number;
  surrogate: number;
  kl: number;
  clipShare: number;
  ratioMin: number;
  ratioMax: number;
  /** |this pass's log-prob - old| over span tokens with an old log-prob, before the first update. */
  mismatchMean: number;
  mismatchMax: number;
  updates: number;
  /** Rows that went through the layers in one epoch: |prompt| + sum |suffix| a group. */
  tokensComputed: number;
  spanTokens: number;
  seconds: number;
}

export interface SaveArgs {
  file: string;
  /** The safetensors header (without its length), composed by src/model. */
  header: Uint8Array;
  /** In file order, contiguous. */
  tensors: { name: string; kind: TensorKind; dtype: 'f32' | 'bf16' }[];
}

/** Counters of the work in progress; read while a verb runs. */
export interface Progress {
  tokens: number;
  tracesDone: number;
  tracesTotal: number;
}

/** One loaded model on one device. Verbs queue and run one at a time on the policy's own thread. */
export interface NativePolicy {
  readonly info: LoadInfo;
  sample(args: SampleArgs): Promise<SampleResult>;
  score(args: ScoreArgs): Promise<ScoreResult>;
  step(args: StepArgs): Promise<StepResult>;
  save(args: SaveArgs): Promise<void>;
  /** One tensor's numbers (tests, `vf model info`). */
  tensor(kind: TensorKind, name: string): Promise<Float32Array>;
  progress(): Progress;
  /** Ends the verb in progress with VF_CANCELLED at its next safe point. */
  cancel(): void;
  close(): Promise<void>;
}

/** What this build and this machine have of CUDA; reading it asks the driver. */
export interface CudaState {
  compiled: boolean;
  /** A test build whose kernels run on the CPU, as device 'cuda-sim'. */
  simulated: boolean;
  /** Names of the usable devices; empty: `reason` says why (no driver, driver too old, no kernel for the chip). */
  devices: string[];
  /** Bytes of memory of each device. */
  memory: number[];
  reason: string;
  /** What waits behind a switch until hardware has shown it right, and its state. */
  switches: Record<string, string>;
}

export interface NativeAddon {
  version: string;
  load(args: LoadArgs): Promise<NativePolicy>;
  cpu: { isa: string; bf16: boolean };
  cuda: CudaState;
  /** Sizes whose borders the invariance tests must cross. */
  constants: Record<string, number>;
  /** The counter-based generator of native/core/rng.h: 53 bits in (0, 1). */
  uniform(stream: StreamArgs, occurrence: number, sample: number, position: number): number;
}
