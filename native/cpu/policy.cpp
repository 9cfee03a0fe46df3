// From answer log-probs or given rewards to the weight of every span token, a group at a time.
#include <vector>

#include "../ops/policy_math.h"
#include "cpu_ops.h"
#include "scalar_math.h"

namespace vf {

namespace {

struct OwnMath {
  static double exp(double x) { return exp_double(x); }
  static double log(double x) { return log_double(x); }
};
using Math = PolicyMath<OwnMath>;

// Traces without a continuation take the lowest finite log R of the group; false where the group has none.
bool fill_missing_logs(TraceReward* rewards, int32_t count) {
  const double lowest = Math::lowest_log(rewards, count);
  if (lowest == INFINITY) return false;
  for (int32_t i = 0; i < count; i++)
    if (rewards[i].value == -INFINITY) rewards[i].value = lowest;
  return true;
}

// Writes every trace's advantage; false where the group has nothing to learn from.
bool group_advantages(const PolicyWeightsArgs& a, int32_t begin, TraceReward* rewards, int32_t count) {
  if (count == 0 || (a.reward == RewardKind::log_probability && !fill_missing_logs(rewards, count))) return false;
  const int32_t known = Math::known_rewards(rewards, count);
  for (int32_t i = 0; i < count; i++) rewards[i].advantage = Math::raw_advantage(a, begin, rewards, count, known, i);
  const double deviation = Math::deviation(a, rewards, count, known);
  for (int32_t i = 0; i < count; i++) rewards[i].advantage /= deviation;
  return Math::has_signal(a, known);
}

}  // namespace

void cpu_policy_weights(CpuContext&, const PolicyWeightsArgs& a) {
  std::vector<TraceReward> rewards;
  for (int32_t g = 0; g < a.groups; g++) {
    const int32_t begin = a.group_offsets[g], count = a.group_offsets[g + 1] - begin;
    rewards.resize(count);
    for (int32_t i = 0; i < count; i++) rewards[i] = Math::trace_reward(a, begin + i);
    const bool signal = group_advantages(a, begin, rewards.data(), count);
    a.skipped[g] = signal ? 0 : 1;
    for (int32_t i = 0; i < count; i++) Math::write_trace(a, begin + i, rewards[i], !signal);
  }
}

}  // namespace vf
