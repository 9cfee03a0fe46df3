// From answer log-probs or given rewards to the weight of every span token: a block a group, a thread a trace.
#include "cuda_ops.h"

#define VF_POLICY_FUNCTION __device__
#include "../ops/policy_math.h"

namespace vf {

namespace {

constexpr int threads = 64;

struct DeviceMath {
  static __device__ double exp(double x) { return ::exp(x); }
  static __device__ double log(double x) { return ::log(x); }
};
using Math = PolicyMath<DeviceMath>;

__global__ void __launch_bounds__(threads) policy_weights(PolicyWeightsArgs a, TraceReward* all) {
  const int32_t begin = a.group_offsets[blockIdx.x], count = a.group_offsets[blockIdx.x + 1] - begin;
  TraceReward* rewards = all + begin;
  for (int32_t i = threadIdx.x; i < count; i += threads) rewards[i] = Math::trace_reward(a, begin + i);
  __syncthreads();
  bool signal = count > 0;
  if (signal && a.reward == RewardKind::log_probability) {
    const double lowest = Math::lowest_log(rewards, count);
    __syncthreads();
    signal = !(lowest == INFINITY);
    for (int32_t i = threadIdx.x; signal && i < count; i += threads)
      if (rewards[i].value == -INFINITY) rewards[i].value = lowest;
    __syncthreads();
  }
  const int32_t known = Math::known_rewards(rewards, count);
  for (int32_t i = threadIdx.x; signal && i < count; i += threads)
    rewards[i].advantage = Math::raw_advantage(a, begin, rewards, count, known, i);
  __syncthreads();
  const double deviation = Math::deviation(a, rewards, count, known);
  __syncthreads();
  signal = signal && Math::has_signal(a, known);
  for (int32_t i = threadIdx.x; i < count; i += threads) {
    rewards[i].advantage /= deviation;
    Math::write_trace(a, begin + i, rewards[i], !signal);
  }
  if (threadIdx.x == 0) a.skipped[blockIdx.x] = signal ? 0 : 1;
}

}  // namespace

void cuda_policy_weights(CudaContext& c, const PolicyWeightsArgs& a) {
  if (a.groups == 0) return;
  TraceReward* rewards = c.scratch.get<TraceReward>(CudaScratch::policy, a.traces);
  VF_LAUNCH((policy_weights), dim3(static_cast<unsigned>(a.groups)), dim3(threads), 0, c.stream, a, rewards);
  cuda_check_launch("policy_weights");
}

}  // namespace vf
