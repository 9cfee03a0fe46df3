// One training step: rewards and weights over whole groups, then one or more updates over mini-batches of whole
// groups, each the sum of micro-batches of whole trees.
#pragma once
#include <vector>

#include "network.h"
#include "score.h"

namespace vf {

struct Optimizer {
  double lr = 0, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0, clip_norm = 0;
  int64_t updates_done = 0;
};

enum class Terms { both, reasoning, answer };

// As src/native/types.ts, StepArgs. Empty vectors mean "none".
struct StepRequest {
  Forest forest;
  std::vector<Span> spans;
  std::vector<int32_t> span_trace, group_offsets, continuation_offsets, answer_offsets;
  std::vector<float> answer_logprobs, given, span_weights, old_logprobs, ref_logprobs;
  RewardKind reward = RewardKind::probability;
  AdvantageKind advantage = AdvantageKind::rloo;
  AnswerWeight answer_weight = AnswerWeight::exact;
  double reward_exponent = 1, length_divisor = 1;
  bool normalize_tokens = false;
  Terms terms = Terms::both;
  double temperature = 1, clip_low = -1, clip_high = -1, dual_clip = 0, kl_coefficient = 0, tis_cap = 0;
  int32_t epochs = 1, mini_batches = 1;
  bool update = true, recompute = false;
  int64_t micro_batch_tokens = 4096;
  Optimizer optimizer;
  int32_t usable_vocab = 0;
};

struct StepOutput {
  std::vector<float> log_reward, reward, advantage, logprobs;
  std::vector<int32_t> skipped;
  std::vector<double> grad_norms;
  double weighted_logprob = 0, surrogate = 0, kl = 0, clip_share = 0, ratio_min = 1, ratio_max = 1;
  double mismatch_mean = 0, mismatch_max = 0;
  int32_t updates = 0;
  int64_t tokens_computed = 0, span_tokens = 0;
};

StepOutput train_step(Network& network, const StepRequest& request, const Control& control);

}  // namespace vf
