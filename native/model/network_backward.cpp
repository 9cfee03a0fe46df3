// The backward pass (network.h): layer by layer in reverse, adding to the gradient arena.
#include <cmath>

#include "network.h"

namespace vf {

void Network::final_norm_backward(const float* dnormed, const int32_t* index, int64_t count, float* dx) {
  float* dgathered = dgathered_.floats(count * spec_.hidden);
  ops_.rmsnorm_backward({count, spec_.hidden, gathered_.floats(0), weights_.weights().final_norm, final_rstd_.floats(0),
                         dnormed, dgathered, false, weights_.grads().final_norm});
  ops_.scatter_rows({count, spec_.hidden, dgathered, index, dx});
}

void Network::backward(const DevicePlan& plan, int32_t blocks, bool recompute, float* dx, const Control& control) {
  const size_t bytes = static_cast<size_t>(plan.rows * spec_.hidden) * sizeof(float);
  for (int32_t l = spec_.layers - 1; l >= 0; l--) {
    control.check();
    if (recompute) {
      float* x = hidden_.floats(plan.rows * spec_.hidden);
      ops_.copy(x, states_[l].input.floats(0), bytes);
      layer(l, plan, layer_store(scratch_, blocks), scratch_, x, true);
      ops_.copy(scratch_.input.floats(plan.rows * spec_.hidden), states_[l].input.floats(0), bytes);
    }
    layer_backward(l, plan, blocks, recompute ? scratch_ : states_[l], dx);
  }
  ops_.embed_backward({plan.rows, spec_.hidden, plan.ids, dx, weights_.grads().embedding});
}

// dx [rows, hidden] comes in as the gradient of the layer's output and leaves as that of its input.
void Network::layer_backward(int32_t index, const DevicePlan& plan, int32_t blocks, LayerState& s, float* dx) {
  const LayerWeights& w = weights_.weights().layers[index];
  const LayerWeights& g = weights_.grads().layers[index];
  const int64_t rows = plan.rows, hidden = spec_.hidden, ffn = spec_.ffn, query = spec_.query_width();
  const Heads heads = spec_.attention();

  float* d_activated = d_wide_.floats(rows * ffn);
  ops_.matmul_input_grad({rows, hidden, ffn, dx, w.down, d_activated, false});
  ops_.matmul_weight_grad({rows, hidden, ffn, dx, s.activated.floats(0), g.down, nullptr});
  float* d_gate_up = d_gate_up_.floats(rows * 2 * ffn);
  ops_.swiglu_backward({rows, ffn, s.gate_up.floats(0), d_activated, d_gate_up});
  float* d_row = d_row_.floats(rows * hidden);
  ops_.matmul_input_grad({rows, 2 * ffn, hidden, d_gate_up, w.gate_up, d_row, false});
  ops_.matmul_weight_grad({rows, 2 * ffn, hidden, d_gate_up, s.mlp_normed.floats(0), g.gate_up, nullptr});
  ops_.rmsnorm_backward(
      {rows, hidden, s.middle.floats(0), w.mlp_norm, s.mlp_rstd.floats(0), d_row, dx, true, g.mlp_norm});

  float* d_attended = d_attended_.floats(rows * query);
  ops_.matmul_input_grad({rows, hidden, query, dx, w.attention_out, d_attended, false});
  ops_.matmul_weight_grad({rows, hidden, query, dx, s.attended.floats(0), g.attention_out, nullptr});
  const int64_t kv_count = blocks * heads.value_block_size();
  float* d_keys = d_keys_.floats(kv_count);
  float* d_values = d_values_.floats(kv_count);
  ops_.zero(d_keys, static_cast<size_t>(kv_count) * sizeof(float));
  ops_.zero(d_values, static_cast<size_t>(kv_count) * sizeof(float));
  const KvStore store = layer_store(s, blocks);
  float* d_q = d_q_.floats(rows * query);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim)));
  ops_.attention_backward({heads, scale, s.q.floats(0), store, plan.views, plan.runs, s.attended.floats(0),
                           s.lse.floats(0), d_attended, d_q, d_keys, d_values});
  float* d_qkv = d_qkv_.floats(rows * heads.qkv_width());
  ops_.qkv_backward({rows, heads, spec_.rms_eps, s.qkv.floats(0), w.q_norm, w.k_norm, plan.positions, cos_.floats(0),
                     sin_.floats(0), plan.kv_block_id, plan.kv_slot, d_q, d_keys, d_values, d_qkv, g.q_norm, g.k_norm});
  ops_.matmul_input_grad({rows, heads.qkv_width(), hidden, d_qkv, w.qkv, d_row, false});
  ops_.matmul_weight_grad({rows, heads.qkv_width(), hidden, d_qkv, s.normed.floats(0), g.qkv, g.qkv_bias});
  ops_.rmsnorm_backward(
      {rows, hidden, s.input.floats(0), w.attention_norm, s.rstd.floats(0), d_row, dx, true, g.attention_norm});
}

}  // namespace vf
