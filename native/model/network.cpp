// The forward pass (network.h).
#include "network.h"

#include <cmath>

#include "rope.h"

namespace vf {

void DevicePlan::upload(const RowPlan& plan) {
  rows = plan.rows();
  ids = ids_.upload(plan.ids);
  positions = positions_.upload(plan.positions);
  kv_block_id = block_id_.upload(plan.kv_block_id);
  kv_slot = slot_.upload(plan.kv_slot);
  views = KvViews{view_offsets_.upload(plan.view_offsets), view_blocks_.upload(plan.view_blocks),
                  view_counts_.upload(plan.view_counts), plan.views()};
  runs = AttentionRuns{runs_.upload(plan.runs), static_cast<int32_t>(plan.runs.size()),
                       families_.upload(plan.family_offsets), static_cast<int32_t>(plan.family_offsets.size()) - 1};
}

Network::Network(Weights& weights)
    : weights_(weights),
      ops_(weights.ops()),
      spec_(weights.spec()),
      cos_(ops_),
      sin_(ops_),
      hidden_(ops_),
      gathered_(ops_),
      normed_(ops_),
      final_rstd_(ops_),
      dgathered_(ops_),
      scratch_(ops_),
      step_(ops_),
      d_wide_(ops_),
      d_gate_up_(ops_),
      d_row_(ops_),
      d_attended_(ops_),
      d_q_(ops_),
      d_qkv_(ops_),
      d_keys_(ops_),
      d_values_(ops_) {
  const RopeTables tables = rope_tables(spec_, spec_.max_positions);
  cos_.upload(tables.cos);
  sin_.upload(tables.sin);
  for (int32_t l = 0; l < spec_.layers; l++) states_.emplace_back(ops_);
}

std::vector<KvStore> Network::make_stores(Buffer& memory, int64_t blocks) const {
  const Heads heads = spec_.attention();
  const int64_t element = ops_.kv_element_bytes();
  const int64_t keys = blocks * heads.key_block_size() * element, values = blocks * heads.value_block_size() * element;
  char* base = memory.get<char>((keys + values) * spec_.layers);
  std::vector<KvStore> stores;
  for (int32_t l = 0; l < spec_.layers; l++, base += keys + values) stores.push_back(KvStore{base, base + keys});
  return stores;
}

KvStore Network::layer_store(LayerState& state, int32_t blocks) {
  const Heads heads = spec_.attention();
  const int64_t element = ops_.kv_element_bytes();
  return KvStore{state.keys.get<char>(blocks * heads.key_block_size() * element),
                 state.values.get<char>(blocks * heads.value_block_size() * element)};
}

// One block of the transformer; x [rows, hidden] is the residual stream, updated in place.
//   x += W_o attention(rope(norm(W_qkv rmsnorm(x))));   x += W_down (silu(W_gate n) * W_up n), n = rmsnorm(x)
void Network::layer(int32_t index, const DevicePlan& plan, KvStore store, LayerState& s, float* x, bool keep) {
  const LayerWeights& w = weights_.weights().layers[index];
  const int64_t rows = plan.rows, hidden = spec_.hidden, ffn = spec_.ffn, query = spec_.query_width();
  const Heads heads = spec_.attention();
  float* normed = s.normed.floats(rows * hidden);
  ops_.rmsnorm({rows, hidden, spec_.rms_eps, x, w.attention_norm, normed, keep ? s.rstd.floats(rows) : nullptr});
  float* qkv = s.qkv.floats(rows * heads.qkv_width());
  ops_.matmul({rows, heads.qkv_width(), hidden, normed, w.qkv, w.qkv_bias, qkv, false});
  float* q = s.q.floats(rows * query);
  ops_.qkv({rows, heads, spec_.rms_eps, qkv, w.q_norm, w.k_norm, plan.positions, cos_.floats(0), sin_.floats(0),
            plan.kv_block_id, plan.kv_slot, q, store});
  float* attended = s.attended.floats(rows * query);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim)));
  ops_.attention(
      {heads, scale, q, store, plan.views, plan.runs, attended, keep ? s.lse.floats(rows * spec_.heads) : nullptr});
  ops_.matmul({rows, hidden, query, attended, w.attention_out, nullptr, x, true});
  if (keep) ops_.copy(s.middle.floats(rows * hidden), x, static_cast<size_t>(rows * hidden) * sizeof(float));
  float* mlp_normed = s.mlp_normed.floats(rows * hidden);
  ops_.rmsnorm({rows, hidden, spec_.rms_eps, x, w.mlp_norm, mlp_normed, keep ? s.mlp_rstd.floats(rows) : nullptr});
  float* gate_up = s.gate_up.floats(rows * 2 * ffn);
  ops_.matmul({rows, 2 * ffn, hidden, mlp_normed, w.gate_up, nullptr, gate_up, false});
  float* activated = s.activated.floats(rows * ffn);
  ops_.swiglu({rows, ffn, gate_up, activated});
  ops_.matmul({rows, hidden, ffn, activated, w.down, nullptr, x, true});
}

float* Network::forward(const DevicePlan& plan, const std::vector<KvStore>& stores, const Control& control) {
  float* x = hidden_.floats(plan.rows * spec_.hidden);
  ops_.embed({plan.rows, spec_.hidden, plan.ids, weights_.weights().embedding, x});
  for (int32_t l = 0; l < spec_.layers; l++) {
    control.check();
    layer(l, plan, stores[l], scratch_, x, false);
  }
  return x;
}

float* Network::forward_keep(const DevicePlan& plan, int32_t blocks, bool recompute, const Control& control) {
  const int64_t count = plan.rows * spec_.hidden;
  float* x = hidden_.floats(count);
  ops_.embed({plan.rows, spec_.hidden, plan.ids, weights_.weights().embedding, x});
  for (int32_t l = 0; l < spec_.layers; l++) {
    control.check();
    ops_.copy(states_[l].input.floats(count), x, static_cast<size_t>(count) * sizeof(float));
    LayerState& state = recompute ? scratch_ : states_[l];
    layer(l, plan, layer_store(state, blocks), state, x, !recompute);
  }
  return x;
}

float* Network::final_norm(const float* hidden, const int32_t* index, int64_t count, bool keep) {
  float* gathered = gathered_.floats(count * spec_.hidden);
  ops_.gather_rows({count, spec_.hidden, hidden, index, gathered});
  float* normed = normed_.floats(count * spec_.hidden);
  ops_.rmsnorm({count, spec_.hidden, spec_.rms_eps, gathered, weights_.weights().final_norm, normed,
                keep ? final_rstd_.floats(count) : nullptr});
  return normed;
}

}  // namespace vf
