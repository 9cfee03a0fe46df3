// A decoder-only transformer's shape (src/native/types.ts, ModelSpec).
#pragma once
#include <cstdint>
#include <string>

#include "../ops/ops.h"

namespace vf {

enum class RopeScaling { none, linear, llama3 };

struct Spec {
  int32_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  float rms_eps = 1e-6f;
  double rope_theta = 1e4;
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 1, rope_low_freq_factor = 1, rope_high_freq_factor = 1, rope_original_positions = 0;
  bool qk_norm = false, qkv_bias = false, tied = true;
  int32_t max_positions = 0;

  Heads attention() const { return Heads{heads, kv_heads, head_dim}; }
  int64_t query_width() const { return static_cast<int64_t>(heads) * head_dim; }
};

}  // namespace vf
