/** config.json of a Hugging Face folder as a ModelSpec; what the engine does not compute is refused by name. */

import { VfError } from '../errors.js';
import type { Family, ModelSpec } from '../native/types.js';
import { isObject, type JsonObject } from './json.js';

const FAMILIES: Record<string, Family> = {
  Qwen3ForCausalLM: 'qwen3',
  Qwen2ForCausalLM: 'qwen2',
  LlamaForCausalLM: 'llama',
};

export interface ParsedConfig {
  spec: ModelSpec;
  /** config.json's own end-of-text ids (a number or a list there). */
  eosIds: number[];
  bosId: number | undefined;
  /** What the reader should know: settings that training ignores. */
  notes: string[];
}

/** Reads a parsed config.json. @param file for messages. Unsupported settings throw VF_UNSUPPORTED_MODEL. */
export function parseConfig(config: JsonObject, file: string): ParsedConfig {
  const family = familyOf(config, file);
  refuseUnsupported(config, family, file);
  const whole = (key: string, fallback?: number): number => wholeNumber(config, key, file, fallback);
  const hidden = whole('hidden_size');
  const heads = whole('num_attention_heads');
  const kvHeads = whole('num_key_value_heads', heads);
  const headDim = whole('head_dim', family === 'qwen3' ? 128 : hidden / heads);
  if (heads % kvHeads !== 0) {
    throw bad(file, 'num_key_value_heads', `a divisor of num_attention_heads (${heads})`, kvHeads);
  }
  if (headDim % 2 !== 0) throw bad(file, 'head_dim', 'an even whole number', headDim);
  const spec: ModelSpec = {
    family,
    layers: whole('num_hidden_layers'),
    hidden,
    heads,
    kvHeads,
    headDim,
    ffn: whole('intermediate_size'),
    vocab: whole('vocab_size'),
    rmsEps: positive(config, 'rms_norm_eps', file, 1e-6),
    ...rope(config, file),
    qkNorm: family === 'qwen3',
    qkvBias: family === 'qwen2',
    tied: config.tie_word_embeddings === true,
    maxPositions: whole('max_position_embeddings', 2048),
  };
  return {
    spec,
    eosIds: idList(config.eos_token_id),
    bosId: idList(config.bos_token_id)[0],
    notes: notesOf(config),
  };
}

/** Token ids of a config field: a number, a list of numbers, or nothing. */
export function idList(value: unknown): number[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((id): id is number => typeof id === 'number' && Number.isInteger(id) && id >= 0);
}

function familyOf(config: JsonObject, file: string): Family {
  const named = Array.isArray(config.architectures) ? String(config.architectures[0]) : undefined;
  const family = named === undefined ? undefined : FAMILIES[named];
  if (family !== undefined) return family;
  const type = config.model_type;
  if (named === undefined && (type === 'qwen3' || type === 'qwen2' || type === 'llama')) return type;
  throw unsupported(file, `architecture ${named ?? `of model_type ${JSON.stringify(type)}`}`, [
    `supported architectures: ${Object.keys(FAMILIES).join(', ')}`,
  ]);
}

function refuseUnsupported(config: JsonObject, family: Family, file: string): void {
  if (isObject(config.quantization_config)) {
    const method = config.quantization_config.quant_method;
    throw unsupported(file, `quantized weights (${String(method)})`, ['take the f32, f16 or bf16 original']);
  }
  const act = config.hidden_act ?? 'silu';
  if (act !== 'silu') throw unsupported(file, `hidden_act ${JSON.stringify(act)}`, ['only silu is computed']);
  for (const key of ['attention_bias', 'mlp_bias']) {
    if (config[key] === true) throw unsupported(file, `${key} true`);
  }
  const layerTypes = Array.isArray(config.layer_types) ? config.layer_types : [];
  const other = layerTypes.find((type) => type !== 'full_attention');
  if (other !== undefined) throw unsupported(file, `layer type ${JSON.stringify(other)}`);
  const windowInUse =
    family === 'llama' ? typeof config.sliding_window === 'number' : config.use_sliding_window === true;
  if (windowInUse)
    throw unsupported(file, `sliding window attention (sliding_window ${config.sliding_window})`);
  const partial = config.partial_rotary_factor ?? 1;
  if (partial !== 1) throw unsupported(file, `partial_rotary_factor ${String(partial)}`);
}

/** Both forms: `rope_theta` + `rope_scaling`, and the newer `rope_parameters` that holds them together. */
function rope(config: JsonObject, file: string): Pick<ModelSpec, 'ropeTheta' | 'ropeScaling'> {
  const newer = isObject(config.rope_parameters) ? config.rope_parameters : undefined;
  const older = isObject(config.rope_scaling) ? config.rope_scaling : undefined;
  const nested = Object.entries(newer ?? {}).find(([, value]) => isObject(value));
  if (nested) throw unsupported(file, `rope_parameters by layer type (${nested[0]})`);
  const scaling = newer ?? older ?? {};
  const ropeTheta =
    newer?.rope_theta === undefined
      ? positive(config, 'rope_theta', file, 10000)
      : positive(newer, 'rope_theta', file);
  const partial = scaling.partial_rotary_factor ?? 1;
  if (partial !== 1) throw unsupported(file, `partial_rotary_factor ${String(partial)}`);
  const kind = scaling.rope_type ?? scaling.type ?? 'default';
  if (kind === 'default') return { ropeTheta, ropeScaling: { kind: 'none' } };
  if (kind === 'linear') {
    return { ropeTheta, ropeScaling: { kind, factor: positive(scaling, 'factor', file) } };
  }
  if (kind === 'llama3') {
    const ropeScaling = {
      kind: 'llama3',
      factor: positive(scaling, 'factor', file),
      lowFreqFactor: positive(scaling, 'low_freq_factor', file),
      highFreqFactor: positive(scaling, 'high_freq_factor', file),
      originalPositions: wholeNumber(scaling, 'original_max_position_embeddings', file),
    } as const;
    if (ropeScaling.highFreqFactor <= ropeScaling.lowFreqFactor) {
      throw bad(file, 'high_freq_factor', 'a number above low_freq_factor', ropeScaling.highFreqFactor);
    }
    return { ropeTheta, ropeScaling };
  }
  throw unsupported(file, `rope scaling ${JSON.stringify(kind)}`, ['supported: default, linear, llama3']);
}

function notesOf(config: JsonObject): string[] {
  const notes: string[] = [];
  for (const key of ['attention_dropout', 'hidden_dropout', 'resid_pdrop', 'embd_pdrop']) {
    const value = config[key];
    if (typeof value === 'number' && value > 0)
      notes.push(`config.json has ${key} ${value}; training uses none`);
  }
  return notes;
}

function wholeNumber(config: JsonObject, key: string, file: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 0x7fffffff) {
    throw bad(file, key, 'a whole number above 0', value);
  }
  return value;
}

function positive(config: JsonObject, key: string, file: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    throw bad(file, key, 'a number above 0', value);
  }
  return value;
}

function bad(file: string, key: string, expected: string, actual: unknown): VfError {
  return new VfError(
    'VF_MODEL_CONFIG',
    `Expected ${expected} for ${key} of ${file} but received ${JSON.stringify(actual) ?? 'nothing'}`,
    { file },
  );
}

function unsupported(file: string, what: string, hints: string[] = []): VfError {
  return new VfError('VF_UNSUPPORTED_MODEL', `${what} in ${file} is not supported`, {
    file,
    hint: hints[0] ?? 'take a Qwen3, Qwen2/2.5 or Llama 2/3 model with its standard settings',
  });
}
