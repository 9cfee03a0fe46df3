// AdamW over the arena in one kernel, and the squared norm over fixed blocks added in order.
#include "cuda_ops.h"
#include "reduce.cuh"

namespace vf {

namespace {

constexpr int threads = 256;
constexpr int64_t norm_block = 1 << 15;

__device__ __forceinline__ void adamw_one(const AdamWArgs& a, float decay, float& w, float grad, float& m, float& v) {
  const float g = grad * a.grad_scale;
  m = a.beta1 * m + (1.0f - a.beta1) * g;
  v = a.beta2 * v + (1.0f - a.beta2) * (g * g);
  w = w * decay - a.lr * ((m / a.bias1) / (sqrtf(v / a.bias2) + a.eps));
}

__global__ void __launch_bounds__(threads) adamw(AdamWArgs a) {
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
  const float decay = 1.0f - a.lr * a.weight_decay;
  if (at + 4 <= a.count) {
    float4 w = load_float4(a.weight + at), m = load_float4(a.m + at), v = load_float4(a.v + at);
    const float4 g = load_float4(a.grad + at);
    adamw_one(a, decay, w.x, g.x, m.x, v.x);
    adamw_one(a, decay, w.y, g.y, m.y, v.y);
    adamw_one(a, decay, w.z, g.z, m.z, v.z);
    adamw_one(a, decay, w.w, g.w, m.w, v.w);
    store_float4(a.weight + at, w);
    store_float4(a.m + at, m);
    store_float4(a.v + at, v);
    return;
  }
  for (int64_t i = at; i < a.count; i++) adamw_one(a, decay, a.weight[i], a.grad[i], a.m[i], a.v[i]);
}

__global__ void __launch_bounds__(threads) squares(const float* x, int64_t count, double* partial) {
  __shared__ double parts[32];
  const int64_t begin = blockIdx.x * norm_block, end = begin + norm_block < count ? begin + norm_block : count;
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  sum = block_reduce(sum, SumOf(), 0.0, parts);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// partial[0] = sum of partial[0, count): a chain a thread, then the threads by the fixed tree.
__global__ void __launch_bounds__(threads) sum_doubles(double* partial, int64_t count) {
  __shared__ double parts[32];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = block_reduce(sum, SumOf(), 0.0, parts);
  if (threadIdx.x == 0) partial[0] = sum;
}

}  // namespace

void cuda_adamw(CudaContext& c, const AdamWArgs& a) {
  if (a.count == 0) return;
  VF_LAUNCH((adamw), dim3(blocks_of(a.count, 4 * threads)), dim3(threads), 0, c.stream, a);
  cuda_check_launch("adamw");
}

double cuda_squared_norm(CudaContext& c, const float* x, int64_t count) {
  if (count == 0) return 0;
  const int64_t blocks = blocks_of(count, norm_block);
  double* partial = c.scratch.get<double>(CudaScratch::norm, blocks);
  VF_LAUNCH((squares), dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, c.stream, x, count, partial);
  VF_LAUNCH((sum_doubles), dim3(1), dim3(threads), 0, c.stream, partial, blocks);
  cuda_check_launch("squared_norm");
  double sum = 0;
  c.download(&sum, partial, sizeof sum);
  return sum;
}

}  // namespace vf
