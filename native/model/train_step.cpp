// One training step (train_step.h).
#include "train_step.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "../core/error.h"

namespace vf {
namespace {

class TrainStep {
 public:
  TrainStep(Network& network, const StepRequest& request, const Control& control)
      : network_(network),
        weights_(network.weights()),
        ops_(weights_.ops()),
        spec_(weights_.spec()),
        r_(request),
        control_(control),
        buffers_(network.step_buffers()) {}

  StepOutput run();

 private:
  void check();
  void make_weights();
  void mini_batch(int32_t epoch, int32_t first_group, int32_t last_group);
  void micro_batch(TreeRange range, double scale, bool first_epoch, TokenStats& stats);
  void update();
  [[noreturn]] void not_finite(const char* op, const SpanRow& row) const;
  int32_t span_of(int32_t token) const {
    return static_cast<int32_t>(std::upper_bound(firsts_.begin(), firsts_.end(), token) - firsts_.begin()) - 1;
  }

  Network& network_;
  Weights& weights_;
  Ops& ops_;
  Spec spec_;
  const StepRequest& r_;
  const Control& control_;
  StepBuffers& buffers_;
  std::vector<int32_t> firsts_, trees_, group_tree_;
  std::vector<float> token_weight_;  // [span tokens], before normalization
  bool on_policy_ = true;
  StepOutput out_;
  double rows_seen_ = 0, clipped_ = 0;
};

void expect_size(const char* name, size_t expected, size_t actual) {
  require(expected == actual, "VF_INVALID_VALUE",
          "Expected " + std::to_string(expected) + " entries for " + name + " but received " + std::to_string(actual));
}

void TrainStep::check() {
  require(weights_.trainable(), "VF_INVALID_STATE", "Expected a trainable policy but it was loaded for inference only");
  require(!r_.group_offsets.empty() && !r_.continuation_offsets.empty(), "VF_INVALID_VALUE",
          "Expected at least one group but received none");
  check_forest(r_.forest, spec_.vocab, spec_.max_positions);
  firsts_ = span_firsts(r_.forest, r_.spans);
  trees_ = tree_of_segments(r_.forest);
  const size_t tokens = static_cast<size_t>(firsts_.back()), traces = static_cast<size_t>(r_.group_offsets.back());
  expect_size("spanTrace", r_.spans.size(), r_.span_trace.size());
  expect_size("continuationOffsets", traces + 1, r_.continuation_offsets.size());
  if (!r_.old_logprobs.empty()) expect_size("oldLogprobs", tokens, r_.old_logprobs.size());
  if (!r_.ref_logprobs.empty()) expect_size("refLogprobs", tokens, r_.ref_logprobs.size());
  if (!r_.given.empty()) expect_size("given", traces, r_.given.size());
  if (!r_.span_weights.empty()) expect_size("spanWeights", r_.spans.size(), r_.span_weights.size());
  require(r_.epochs >= 1 && r_.mini_batches >= 1, "VF_INVALID_VALUE", "Expected at least one epoch and one mini-batch");
  on_policy_ = r_.epochs * r_.mini_batches == 1;
  require(on_policy_ || !r_.old_logprobs.empty(), "VF_INVALID_VALUE",
          "Expected the sampler's log-probs (oldLogprobs) with more than one update a step but received none");
  // A group's spans must lie in whole trees of its own, in order.
  std::vector<int32_t> trace_group(traces);
  for (size_t g = 0; g + 1 < r_.group_offsets.size(); g++)
    for (int32_t t = r_.group_offsets[g]; t < r_.group_offsets[g + 1]; t++) trace_group[t] = static_cast<int32_t>(g);
  const size_t groups = r_.group_offsets.size() - 1;
  std::vector<int32_t> first(groups, -1), last(groups, -1);
  for (size_t i = 0; i < r_.spans.size(); i++) {
    require(r_.span_trace[i] >= 0 && r_.span_trace[i] < static_cast<int32_t>(traces), "VF_INVALID_VALUE",
            "Expected a trace below " + std::to_string(traces) + " but received " + std::to_string(r_.span_trace[i]));
    const int32_t group = trace_group[r_.span_trace[i]], tree = trees_[r_.spans[i].segment];
    if (first[group] < 0 || tree < first[group]) first[group] = tree;
    last[group] = std::max(last[group], tree);
  }
  group_tree_.assign(groups + 1, 0);
  const int32_t tree_count = trees_.empty() ? 0 : *std::max_element(trees_.begin(), trees_.end()) + 1;
  int32_t next = 0;
  for (size_t g = 0; g < groups; g++) {
    require(first[g] < 0 || first[g] >= next, "VF_INVALID_VALUE",
            "Expected the trees of group " + std::to_string(g) + " to follow those of the groups before it");
    group_tree_[g] = next;
    if (last[g] >= 0) next = last[g] + 1;
  }
  group_tree_[groups] = std::max(next, tree_count);
}

void TrainStep::make_weights() {
  const size_t tokens = static_cast<size_t>(firsts_.back());
  token_weight_.assign(tokens, 0.0f);
  if (!r_.span_weights.empty()) {
    for (size_t i = 0; i < r_.spans.size(); i++)
      std::fill(token_weight_.begin() + firsts_[i], token_weight_.begin() + firsts_[i + 1], r_.span_weights[i]);
    return;
  }
  const int32_t traces = r_.group_offsets.back(), groups = static_cast<int32_t>(r_.group_offsets.size()) - 1;
  out_.log_reward.resize(static_cast<size_t>(traces));
  out_.reward.resize(static_cast<size_t>(traces));
  out_.advantage.resize(static_cast<size_t>(traces));
  out_.skipped.resize(static_cast<size_t>(groups));
  std::vector<float> trace_weight(static_cast<size_t>(traces)), answer_weight(r_.answer_logprobs.size());
  auto& [group_offsets, continuation_offsets, answer_offsets, answer_logprob, given] = buffers_.tables;
  auto& [log_reward, reward, advantage, traces_out, answers_out, skipped] = buffers_.results;
  const std::vector<int32_t> no_answers{0};
  ops_.policy_weights(
      {traces, groups, group_offsets.upload(r_.group_offsets), continuation_offsets.upload(r_.continuation_offsets),
       answer_offsets.upload(r_.answer_offsets.empty() ? no_answers : r_.answer_offsets),
       answer_logprob.upload(r_.answer_logprobs), r_.given.empty() ? nullptr : given.upload(r_.given), r_.reward,
       r_.advantage, r_.answer_weight, r_.reward_exponent, 1.0 / r_.length_divisor, log_reward.floats(traces),
       reward.floats(traces), advantage.floats(traces), traces_out.floats(traces),
       answers_out.floats(static_cast<int64_t>(answer_weight.size())), skipped.get<int32_t>(groups)});
  const auto fetch = [&](auto& to, Buffer& from) {
    ops_.download(to.data(), from.get<char>(0), to.size() * sizeof(to[0]));
  };
  fetch(out_.log_reward, log_reward);
  fetch(out_.reward, reward);
  fetch(out_.advantage, advantage);
  fetch(out_.skipped, skipped);
  fetch(trace_weight, traces_out);
  if (!answer_weight.empty()) fetch(answer_weight, answers_out);
  size_t answer = 0;
  for (size_t i = 0; i < r_.spans.size(); i++) {
    const bool is_answer = r_.spans[i].role == 1;
    for (int32_t t = firsts_[i]; t < firsts_[i + 1]; t++) {
      const bool counts = r_.terms == Terms::both || (r_.terms == Terms::answer) == is_answer;
      if (is_answer) {
        require(answer < answer_weight.size(), "VF_INVALID_VALUE",
                "Expected " + std::to_string(answer_weight.size()) +
                    " answer tokens in the spans (as in answerLogprobs) but received more");
        token_weight_[t] = counts ? answer_weight[answer] : 0;
        answer++;
      } else {
        token_weight_[t] = counts ? trace_weight[r_.span_trace[i]] : 0;
      }
    }
  }
  expect_size("answerLogprobs", answer, answer_weight.size());
}

StepOutput TrainStep::run() {
  check();
  make_weights();
  out_.logprobs.resize(static_cast<size_t>(firsts_.back()));
  out_.span_tokens = firsts_.back();
  const int32_t groups = static_cast<int32_t>(r_.group_offsets.size()) - 1,
                parts = std::min(r_.mini_batches, std::max(1, groups));
  for (int32_t epoch = 0; epoch < r_.epochs; epoch++)
    for (int32_t part = 0; part < parts; part++)
      mini_batch(epoch, static_cast<int32_t>(static_cast<int64_t>(groups) * part / parts),
                 static_cast<int32_t>(static_cast<int64_t>(groups) * (part + 1) / parts));
  out_.clip_share = rows_seen_ > 0 ? clipped_ / rows_seen_ : 0;
  return std::move(out_);
}

void TrainStep::mini_batch(int32_t epoch, int32_t first_group, int32_t last_group) {
  const int32_t first_trace = r_.group_offsets[first_group], last_trace = r_.group_offsets[last_group];
  double units = last_trace - first_trace;
  if (r_.normalize_tokens) {
    units = 0;
    for (size_t i = 0; i < r_.spans.size(); i++)
      if (r_.span_trace[i] >= first_trace && r_.span_trace[i] < last_trace) units += firsts_[i + 1] - firsts_[i];
  }
  const double scale = units > 0 ? 1 / units : 0;
  ops_.zero(weights_.arena(Arena::grad), static_cast<size_t>(weights_.arena_count()) * sizeof(float));
  TokenStats stats;
  const bool before_updates = out_.updates == 0 && epoch == 0;
  for (const TreeRange& range :
       split_trees(r_.forest, trees_, group_tree_[first_group], group_tree_[last_group], r_.micro_batch_tokens))
    micro_batch(range, scale, epoch == 0, stats);
  out_.weighted_logprob += stats.weighted_logprob;
  out_.surrogate += stats.surrogate;
  out_.kl += stats.kl;
  out_.ratio_min = std::min(out_.ratio_min, stats.ratio_min);
  out_.ratio_max = std::max(out_.ratio_max, stats.ratio_max);
  rows_seen_ += static_cast<double>(stats.rows);
  clipped_ += stats.clipped;
  if (before_updates && !r_.old_logprobs.empty() && stats.rows > 0) {
    out_.mismatch_mean = stats.mismatch_sum / static_cast<double>(stats.rows);
    out_.mismatch_max = stats.mismatch_max;
  }
  update();
}

void TrainStep::not_finite(const char* op, const SpanRow& row) const {
  const int32_t span = span_of(row.index), trace = r_.span_trace[span];
  const auto group =
      std::upper_bound(r_.group_offsets.begin(), r_.group_offsets.end(), trace) - r_.group_offsets.begin() - 1;
  throw Error("VF_NOT_FINITE", "Expected finite numbers from op " + std::string(op) +
                                   " but received NaN or infinity in group " + std::to_string(group) + ", trace " +
                                   std::to_string(trace) + "; the weights stay as they were before this update");
}

void TrainStep::micro_batch(TreeRange range, double scale, bool first_epoch, TokenStats& stats) {
  const TreePlan plan = pack_trees(r_.forest, trees_, range.first, range.last, r_.spans, firsts_);
  const int64_t count = static_cast<int64_t>(plan.spans.size());
  if (first_epoch) out_.tokens_computed += plan.rows.rows();
  if (count == 0) return;
  buffers_.plan.upload(plan.rows);
  const float* hidden = network_.forward_keep(buffers_.plan, plan.rows.blocks, r_.recompute, control_);

  std::vector<int32_t> rows, ids;
  std::vector<float> weight, old, ref, kl;
  for (const SpanRow& s : plan.spans) {
    rows.push_back(s.row);
    ids.push_back(s.target);
    weight.push_back(static_cast<float>(token_weight_[s.index] * scale));
    if (!r_.old_logprobs.empty()) old.push_back(r_.old_logprobs[s.index]);
    if (!r_.ref_logprobs.empty()) {
      ref.push_back(r_.ref_logprobs[s.index]);
      kl.push_back(static_cast<float>(r_.kl_coefficient * scale / r_.length_divisor));
    }
  }
  const int32_t* index = buffers_.index.upload(rows);
  const float* normed = network_.final_norm(hidden, index, count, true);
  TokenStats part;
  LogprobLossArgs loss{};
  loss.rows = count;
  loss.hidden = spec_.hidden;
  loss.vocab = r_.usable_vocab;
  loss.x = normed;
  loss.head = weights_.weights().head;
  loss.targets = buffers_.targets.upload(ids);
  // in float, as the sampler divides: 1 / 0.7 in double rounds to another float
  loss.inv_temperature = 1 / static_cast<float>(r_.temperature);
  loss.weight = buffers_.weight.upload(weight);
  loss.old_logprob = old.empty() ? nullptr : buffers_.old.upload(old);
  loss.on_policy = on_policy_;
  loss.ref_logprob = ref.empty() ? nullptr : buffers_.ref.upload(ref);
  loss.kl_weight = kl.empty() ? nullptr : buffers_.kl.upload(kl);
  loss.clip_low = static_cast<float>(r_.clip_low);
  loss.clip_high = static_cast<float>(r_.clip_high);
  loss.dual_clip = static_cast<float>(r_.dual_clip);
  loss.tis_cap = static_cast<float>(r_.tis_cap);
  loss.logprob = buffers_.logprob.floats(count);
  loss.dx = buffers_.dnormed.floats(count * spec_.hidden);
  loss.dhead = weights_.grads().head;
  loss.stats = &part;
  ops_.logprob_loss(loss);
  if (part.first_nonfinite >= 0) not_finite("logprob", plan.spans[static_cast<size_t>(part.first_nonfinite)]);
  if (first_epoch) {
    std::vector<float> values(static_cast<size_t>(count));
    ops_.download(values.data(), loss.logprob, values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); i++) out_.logprobs[plan.spans[i].index] = values[i];
  }
  stats.weighted_logprob += part.weighted_logprob;
  stats.surrogate += part.surrogate;
  stats.kl += part.kl;
  stats.kl_unweighted += part.kl_unweighted;
  stats.mismatch_sum += part.mismatch_sum;
  stats.mismatch_max = std::max(stats.mismatch_max, part.mismatch_max);
  stats.ratio_max = std::max(stats.ratio_max, part.ratio_max);
  stats.ratio_min = std::min(stats.ratio_min, part.ratio_min);
  stats.clipped += part.clipped;
  stats.rows += part.rows;

  const int64_t elements = plan.rows.rows() * spec_.hidden;
  float* dx = buffers_.dx.floats(elements);
  ops_.zero(dx, static_cast<size_t>(elements) * sizeof(float));
  network_.final_norm_backward(loss.dx, index, count, dx);
  network_.backward(buffers_.plan, plan.rows.blocks, r_.recompute, dx, control_);
}

void TrainStep::update() {
  const double norm = std::sqrt(ops_.squared_norm(weights_.arena(Arena::grad), weights_.arena_count()));
  require(
      std::isfinite(norm), "VF_NOT_FINITE",
      "Expected a finite gradient norm but received NaN or infinity; the weights stay as they were before this update");
  out_.grad_norms.push_back(norm);
  if (!r_.update) return;
  const Optimizer& o = r_.optimizer;
  const double t = static_cast<double>(o.updates_done + out_.updates + 1);
  AdamWArgs args{};
  args.count = weights_.arena_count();
  args.weight = weights_.arena(Arena::weight);
  args.grad = weights_.arena(Arena::grad);
  args.m = weights_.arena(Arena::m);
  args.v = weights_.arena(Arena::v);
  args.lr = static_cast<float>(o.lr);
  args.beta1 = static_cast<float>(o.beta1);
  args.beta2 = static_cast<float>(o.beta2);
  args.eps = static_cast<float>(o.eps);
  args.weight_decay = static_cast<float>(o.weight_decay);
  args.bias1 = static_cast<float>(1 - std::pow(o.beta1, t));
  args.bias2 = static_cast<float>(1 - std::pow(o.beta2, t));
  args.grad_scale = static_cast<float>(o.clip_norm > 0 && norm > o.clip_norm ? o.clip_norm / norm : 1);
  ops_.adamw(args);
  ops_.weights_changed();
  out_.updates++;
}

}  // namespace

StepOutput train_step(Network& network, const StepRequest& request, const Control& control) {
  return TrainStep(network, request, control).run();
}

}  // namespace vf
