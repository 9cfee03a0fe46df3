// Parity of policy_weights: every reward, advantage and answer weight over groups of several sizes, traces without
// continuation, equal rewards and NaN among the given ones.
#include "cuda_parity.h"

namespace vf_test {

namespace {

struct Groups {
  std::vector<int32_t> group_offsets{0}, continuation_offsets{0}, answer_offsets{0};
  std::vector<float> logprob, given;

  explicit Groups(uint64_t seed) {
    Numbers n(seed);
    for (const int traces : {1, 4, 3, 70, 2, 8}) {
      for (int t = 0; t < traces; t++) {
        const int continuations = traces == 2 ? 0 : static_cast<int>(n.next() % 3);
        for (int c = 0; c < continuations; c++) {
          const int tokens = static_cast<int>(n.next() % 4);
          for (int k = 0; k < tokens; k++) logprob.push_back(traces == 3 ? -0.5f : -static_cast<float>(3 * n.unit()));
          answer_offsets.push_back(static_cast<int32_t>(logprob.size()));
        }
        continuation_offsets.push_back(static_cast<int32_t>(answer_offsets.size()) - 1);
        given.push_back(traces == 3 ? 0.5f : n.next() % 5 == 0 ? NAN : static_cast<float>(n.unit()));
      }
      group_offsets.push_back(static_cast<int32_t>(continuation_offsets.size()) - 1);
    }
  }
};

template <class T>
Guarded<T> guarded(const std::vector<T>& list) {
  Guarded<T> g(list.size());
  for (size_t i = 0; i < list.size(); i++) g[i] = list[i];
  return g;
}

std::vector<Floats> run_on(vf::Ops& ops, const Groups& g, vf::RewardKind reward, vf::AdvantageKind advantage,
                           vf::AnswerWeight weight, double exponent) {
  const size_t traces = g.given.size(), groups = g.group_offsets.size() - 1;
  DeviceInts group(ops, guarded(g.group_offsets)), continuation(ops, guarded(g.continuation_offsets)),
      answer(ops, guarded(g.answer_offsets)), skipped(ops, Ints(groups));
  DeviceFloats logprob(ops, guarded(g.logprob)), given(ops, guarded(g.given)), log_reward(ops, Floats(traces)),
      value(ops, Floats(traces)), advantages(ops, Floats(traces)), trace_weight(ops, Floats(traces)),
      answer_weight(ops, Floats(g.logprob.size()));
  const bool outside = reward == vf::RewardKind::given || advantage == vf::AdvantageKind::given;
  ops.policy_weights({int32_t(traces), int32_t(groups), group.data(), continuation.data(), answer.data(),
                      logprob.data(), outside ? given.data() : nullptr, reward, advantage, weight, exponent, 1.0 / 30,
                      log_reward.data(), value.data(), advantages.data(), trace_weight.data(), answer_weight.data(),
                      skipped.data()});
  const Ints flags = skipped.fetch("policy_weights");
  Floats as_floats(groups);
  for (size_t i = 0; i < groups; i++) as_floats[i] = static_cast<float>(flags[i]);
  return {log_reward.fetch("policy_weights"),    value.fetch("policy_weights"),
          advantages.fetch("policy_weights"),    trace_weight.fetch("policy_weights"),
          answer_weight.fetch("policy_weights"), as_floats};
}

// The same infinities and NaNs, and finite numbers within rounding.
double distance(const Floats& a, const Floats& b) {
  double error = 0, norm = 1e-30;
  for (size_t i = 0; i < a.size(); i++) {
    if (std::isfinite(a[i]) != std::isfinite(b[i]) || std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
    if (!std::isfinite(a[i])) continue;
    if (b[i] == 0 && a[i] != 0) return INFINITY;
    error += std::pow(double(a[i]) - b[i], 2);
    norm += std::pow(double(b[i]), 2);
  }
  return error / norm;
}

}  // namespace

void parity_policy(Parity& p) {
  const Groups g(9);
  const char* names[] = {"log_reward", "reward", "advantage", "trace_weight", "answer_weight", "skipped"};
  for (int r = 0; r < 4; r++)
    for (int a = 0; a < 5; a++)
      for (int w = 0; w < 4; w++)
        for (const double exponent : {1.0, 0.5}) {
          if (p.small && (w != 0 || exponent != 1.0 || a != r || p.bf16)) continue;
          const auto reward = static_cast<vf::RewardKind>(r);
          const auto advantage = static_cast<vf::AdvantageKind>(a);
          const auto weight = static_cast<vf::AnswerWeight>(w);
          const auto want = run_on(p.cpu, g, reward, advantage, weight, exponent),
                     got = run_on(p.cuda, g, reward, advantage, weight, exponent);
          for (int i = 0; i < 6; i++)
            p.row(std::string("policy_weights ") + names[i],
                  "reward " + shape_of(r) + " adv " + shape_of(a) + " answer " + shape_of(w),
                  distance(got[i], want[i]));
        }
}

}  // namespace vf_test
