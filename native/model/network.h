// The transformer itself, forward and backward, over packed rows. The same forward serves prefill, decode, scoring
// and training, so a token's hidden state has the same bits in all of them.
#pragma once
#include <vector>

#include "../core/buffer.h"
#include "../core/control.h"
#include "../core/packed.h"
#include "weights.h"

namespace vf {

// A RowPlan in device memory.
struct DevicePlan {
  explicit DevicePlan(Ops& ops)
      : ids_(ops),
        positions_(ops),
        block_id_(ops),
        slot_(ops),
        view_offsets_(ops),
        view_blocks_(ops),
        view_counts_(ops),
        runs_(ops),
        families_(ops) {}
  void upload(const RowPlan& plan);

  int64_t rows = 0;
  const int32_t *ids = nullptr, *positions = nullptr, *kv_block_id = nullptr, *kv_slot = nullptr;
  KvViews views{};
  AttentionRuns runs{};

 private:
  Buffer ids_, positions_, block_id_, slot_, view_offsets_, view_blocks_, view_counts_, runs_, families_;
};

// What a layer's backward pass needs of its forward pass; [rows, …].
struct LayerState {
  explicit LayerState(Ops& ops)
      : input(ops),
        normed(ops),
        rstd(ops),
        qkv(ops),
        q(ops),
        keys(ops),
        values(ops),
        attended(ops),
        lse(ops),
        middle(ops),
        mlp_normed(ops),
        mlp_rstd(ops),
        gate_up(ops),
        activated(ops) {}
  Buffer input, normed, rstd, qkv, q, keys, values, attended, lse, middle, mlp_normed, mlp_rstd, gate_up, activated;
};

// What a training step hands to the device, kept from step to step. `tables` and `results` are of its rewards.
struct StepBuffers {
  explicit StepBuffers(Ops& ops)
      : plan(ops),
        index(ops),
        targets(ops),
        weight(ops),
        old(ops),
        ref(ops),
        kl(ops),
        logprob(ops),
        dnormed(ops),
        dx(ops),
        tables{Buffer(ops), Buffer(ops), Buffer(ops), Buffer(ops), Buffer(ops)},
        results{Buffer(ops), Buffer(ops), Buffer(ops), Buffer(ops), Buffer(ops), Buffer(ops)} {}
  DevicePlan plan;
  Buffer index, targets, weight, old, ref, kl, logprob, dnormed, dx;
  Buffer tables[5], results[6];
};

class Network {
 public:
  explicit Network(Weights& weights);

  // Hidden states of all rows after the last layer, before the final norm: [rows, hidden], valid until the next pass.
  // `stores` holds every layer's keys and values: rows write theirs and read what their views name.
  float* forward(const DevicePlan& plan, const std::vector<KvStore>& stores, const Control& control);
  // The same with everything kept that backward needs (only the layers' inputs when `recompute`).
  float* forward_keep(const DevicePlan& plan, int32_t blocks, bool recompute, const Control& control);
  // dx [rows, hidden]: gradient of the hidden states that forward_keep returned; adds to the weights' gradients.
  void backward(const DevicePlan& plan, int32_t blocks, bool recompute, float* dx, const Control& control);

  // Final norm of the rows `index` of hidden: [count, hidden]. rstd (may be null) is for final_norm_backward.
  float* final_norm(const float* hidden, const int32_t* index, int64_t count, bool keep);
  // From d(normed) to an addition to dx at the rows `index`.
  void final_norm_backward(const float* dnormed, const int32_t* index, int64_t count, float* dx);

  Weights& weights() { return weights_; }
  StepBuffers& step_buffers() { return step_; }
  // One store a layer, each of `blocks` blocks, in one buffer.
  std::vector<KvStore> make_stores(Buffer& memory, int64_t blocks) const;

 private:
  void layer(int32_t index, const DevicePlan& plan, KvStore store, LayerState& state, float* x, bool keep);
  void layer_backward(int32_t index, const DevicePlan& plan, int32_t blocks, LayerState& state, float* dx);
  KvStore layer_store(LayerState& state, int32_t blocks);

  Weights& weights_;
  Ops& ops_;
  Spec spec_;
  Buffer cos_, sin_, hidden_, gathered_, normed_, final_rstd_, dgathered_;
  LayerState scratch_;
  std::vector<LayerState> states_;
  StepBuffers step_;
  // backward's own
  Buffer d_wide_, d_gate_up_, d_row_, d_attended_, d_q_, d_qkv_, d_keys_, d_values_;
};

}  // namespace vf
