/** config.json: the three families, both forms of rope settings, and refusals by name. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../src/model/config.js';
import { parameterCount, parameterList } from '../../src/model/parameters.js';

const QWEN3_0_6B = {
  architectures: ['Qwen3ForCausalLM'],
  attention_bias: false,
  attention_dropout: 0.0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  head_dim: 128,
  hidden_act: 'silu',
  hidden_size: 1024,
  intermediate_size: 3072,
  max_position_embeddings: 40960,
  max_window_layers: 28,
  num_attention_heads: 16,
  num_hidden_layers: 28,
  num_key_value_heads: 8,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 1000000,
  sliding_window: null,
  tie_word_embeddings: true,
  use_sliding_window: false,
  vocab_size: 151936,
};

const LLAMA3 = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 8,
  num_hidden_layers: 2,
  num_key_value_heads: 2,
  vocab_size: 100,
  max_position_embeddings: 131072,
  rms_norm_eps: 1e-5,
};
const llama3Scaling = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};

const specOf = (config: object) => parseConfig({ ...config }, 'config.json').spec;

test("Qwen3-0.6B's config has its published size", () => {
  const spec = specOf(QWEN3_0_6B);
  assert.equal(parameterCount(spec), 596_049_920);
  assert.equal(spec.qkNorm, true);
  assert.equal(spec.ropeTheta, 1e6);
  assert.equal(parameterList(spec).length, 2 + 28 * 11);
});

test('parameters stand in the order of loading and saving', () => {
  const names = (config: object) =>
    parameterList(specOf(config)).map(({ name }) => name.replace('model.layers.0.', ''));
  assert.deepEqual(names({ ...QWEN3_0_6B, num_hidden_layers: 1, tie_word_embeddings: false }), [
    'model.embed_tokens.weight',
    'input_layernorm.weight',
    'self_attn.q_proj.weight',
    'self_attn.k_proj.weight',
    'self_attn.v_proj.weight',
    'self_attn.q_norm.weight',
    'self_attn.k_norm.weight',
    'self_attn.o_proj.weight',
    'post_attention_layernorm.weight',
    'mlp.gate_proj.weight',
    'mlp.up_proj.weight',
    'mlp.down_proj.weight',
    'model.norm.weight',
    'lm_head.weight',
  ]);
  const qwen2 = { ...LLAMA3, architectures: ['Qwen2ForCausalLM'], num_hidden_layers: 1 };
  assert.deepEqual(names(qwen2).slice(2, 8), [
    'self_attn.q_proj.weight',
    'self_attn.k_proj.weight',
    'self_attn.v_proj.weight',
    'self_attn.q_proj.bias',
    'self_attn.k_proj.bias',
    'self_attn.v_proj.bias',
  ]);
});

test('rope scaling reads the same in the older and the newer form', () => {
  const older = specOf({ ...LLAMA3, rope_theta: 500000, rope_scaling: llama3Scaling });
  const newer = specOf({ ...LLAMA3, rope_parameters: { ...llama3Scaling, rope_theta: 500000 } });
  assert.deepEqual(newer, older);
  assert.deepEqual(older.ropeScaling, {
    kind: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalPositions: 8192,
  });
  const linear = specOf({ ...LLAMA3, rope_scaling: { type: 'linear', factor: 2 } });
  assert.deepEqual(linear.ropeScaling, { kind: 'linear', factor: 2 });
  assert.equal(linear.ropeTheta, 10000);
  assert.equal(linear.headDim, 8);
  assert.deepEqual(
    specOf({ ...LLAMA3, rope_parameters: { rope_type: 'default', rope_theta: 7 } }).ropeScaling,
    {
      kind: 'none',
    },
  );
});

test('what the engine does not compute is refused by name', () => {
  const refused = (change: object, message: RegExp) =>
    assert.throws(() => specOf({ ...LLAMA3, ...change }), {
      code: 'VF_UNSUPPORTED_MODEL',
      exitCode: 2,
      message,
    });
  refused({ architectures: ['MistralForCausalLM'] }, /MistralForCausalLM/);
  refused({ architectures: undefined, model_type: 'gpt2' }, /gpt2/);
  refused({ rope_scaling: { rope_type: 'yarn', factor: 4 } }, /"yarn"/);
  refused({ rope_scaling: { type: 'dynamic', factor: 4 } }, /"dynamic"/);
  refused({ rope_parameters: { full_attention: { rope_type: 'default' } } }, /by layer type/);
  refused({ hidden_act: 'gelu' }, /gelu/);
  refused({ attention_bias: true }, /attention_bias/);
  refused({ mlp_bias: true }, /mlp_bias/);
  refused({ sliding_window: 512 }, /sliding window/);
  refused(
    { architectures: ['Qwen2ForCausalLM'], use_sliding_window: true, sliding_window: 512 },
    /sliding window/,
  );
  refused({ layer_types: ['full_attention', 'sliding_attention'] }, /sliding_attention/);
  refused({ partial_rotary_factor: 0.5 }, /partial_rotary_factor/);
  refused({ quantization_config: { quant_method: 'fp8' } }, /fp8/);
});

test('a window that is configured but not in use is no obstacle', () => {
  const spec = specOf({
    ...LLAMA3,
    architectures: ['Qwen2ForCausalLM'],
    use_sliding_window: false,
    sliding_window: 512,
  });
  assert.equal(spec.family, 'qwen2');
});

test('missing and impossible sizes name their key', () => {
  const bad = (change: object, message: RegExp) =>
    assert.throws(() => specOf({ ...LLAMA3, ...change }), { code: 'VF_MODEL_CONFIG', message });
  bad({ hidden_size: undefined }, /hidden_size.*nothing/);
  bad({ hidden_size: 63 }, /head_dim/);
  bad({ num_key_value_heads: 3 }, /num_key_value_heads/);
  bad({ rope_theta: 0 }, /rope_theta/);
  bad({ vocab_size: '100' }, /vocab_size.*"100"/);
  bad({ rope_scaling: { rope_type: 'linear' } }, /factor/);
});

test('dropout in the config is reported', () => {
  assert.match(
    parseConfig({ ...LLAMA3, attention_dropout: 0.1 }, 'c').notes.join(),
    /attention_dropout 0\.1/,
  );
});
