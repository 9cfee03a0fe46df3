// Between the fused projection and attention: head norms, rotation, and the KV store; forward and backward. A warp a
// row and head; lane l holds elements l, l + 32, … of each half.
#include <string>

#include "cuda_ops.h"
#include "reduce.cuh"

namespace vf {

namespace {

constexpr int warps = 4;
constexpr int gradient_rows = 64;
constexpr int row_parts = 4;                       // threads that share a gradient block's rows
constexpr int most_pairs = max_head_dim / 2 / 32;  // rotation pairs a lane holds

__device__ __forceinline__ float head_rstd(const float* x, int dim, float eps) {
  float squares = 0;
  for (int d = threadIdx.x % 32; d < dim; d += 32) squares += x[d] * x[d];
  return 1.0f / sqrtf(warp_reduce(squares, SumOf()) / static_cast<float>(dim) + eps);
}

// Kv: the type of the store's elements.
template <class Kv>
__global__ void __launch_bounds__(32 * warps) qkv(QkvArgs a) {
  const int dim = a.heads.head_dim, half = dim / 2, pad = padded_dim(a.heads), lane = threadIdx.x % 32;
  const int heads = a.heads.q_heads + 2 * a.heads.kv_heads;
  const int64_t task = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (task >= a.rows * heads) return;
  const int64_t row = task / heads;
  const int head = static_cast<int>(task % heads);
  const float* x = a.qkv + row * heads * dim + head * dim;
  const int64_t block = static_cast<int64_t>(a.kv_block_id[row]) * a.heads.kv_heads;
  const int slot = a.kv_slot[row];
  if (head >= a.heads.q_heads + a.heads.kv_heads) {
    Kv* to = static_cast<Kv*>(a.store.values) +
             ((block + head - a.heads.q_heads - a.heads.kv_heads) * kv_block + slot) * pad;
    for (int d = lane; d < pad; d += 32) put_kv(to + d, d < dim ? x[d] : 0.0f);
    return;
  }
  const bool is_query = head < a.heads.q_heads;
  const float* norm = is_query ? a.q_norm : a.k_norm;
  const float rstd = norm ? head_rstd(x, dim, a.eps) : 1.0f;
  const float *cos = a.cos + static_cast<int64_t>(a.positions[row]) * half,
              *sin = a.sin + static_cast<int64_t>(a.positions[row]) * half;
  float* q = a.q + (row * a.heads.q_heads + head) * dim;
  Kv* k = static_cast<Kv*>(a.store.keys) + (block + head - a.heads.q_heads) * dim * kv_block + slot;
  for (int d = lane; d < half; d += 32) {
    const float low = norm ? x[d] * rstd * norm[d] : x[d],
                high = norm ? x[half + d] * rstd * norm[half + d] : x[half + d];
    const float first = low * cos[d] - high * sin[d], second = high * cos[d] + low * sin[d];
    if (is_query) {
      q[d] = first;
      q[half + d] = second;
    } else {
      put_kv(k + d * kv_block, first);
      put_kv(k + (half + d) * kv_block, second);
    }
  }
}

// Where the gradient of head `head` (queries, then keys, then values) of a row lies.
__device__ __forceinline__ const float* head_gradient(const QkvBackwardArgs& a, int64_t row, int head) {
  const int64_t slot = static_cast<int64_t>(a.kv_block_id[row]) * a.heads.kv_heads * kv_block + a.kv_slot[row];
  const int pad = padded_dim(a.heads);
  if (head < a.heads.q_heads) return a.dq + (row * a.heads.q_heads + head) * a.heads.head_dim;
  head -= a.heads.q_heads;
  if (head < a.heads.kv_heads) return a.dkeys + (slot + head * kv_block) * pad;
  return a.dvalues + (slot + (head - a.heads.kv_heads) * kv_block) * pad;
}

// dqkv, and 1 / rms of every normed head to rstds [rows, q_heads + kv_heads].
__global__ void __launch_bounds__(32 * warps) qkv_dx(QkvBackwardArgs a, float* rstds) {
  const int dim = a.heads.head_dim, half = dim / 2, lane = threadIdx.x % 32;
  const int turned = a.heads.q_heads + a.heads.kv_heads, heads = turned + a.heads.kv_heads;
  const int64_t task = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (task >= a.rows * heads) return;
  const int64_t row = task / heads;
  const int head = static_cast<int>(task % heads);
  const float* x = a.qkv + row * heads * dim + head * dim;
  const float* dy = head_gradient(a, row, head);
  float* dx = a.dqkv + row * heads * dim + head * dim;
  if (head >= turned) {
    for (int d = lane; d < dim; d += 32) dx[d] = dy[d];
    return;
  }
  const float* norm = head < a.heads.q_heads ? a.q_norm : a.k_norm;
  const float *cos = a.cos + static_cast<int64_t>(a.positions[row]) * half,
              *sin = a.sin + static_cast<int64_t>(a.positions[row]) * half;
  float low[most_pairs], high[most_pairs], products = 0;
#pragma unroll
  for (int i = 0; i < most_pairs; i++) {
    const int d = lane + 32 * i;
    low[i] = high[i] = 0;
    if (d >= half) continue;
    low[i] = dy[d] * cos[d] + dy[half + d] * sin[d];
    high[i] = dy[half + d] * cos[d] - dy[d] * sin[d];
    if (norm) products += low[i] * norm[d] * x[d] + high[i] * norm[half + d] * x[half + d];
  }
  float rstd = 1, pull = 0;
  if (norm) {
    rstd = head_rstd(x, dim, a.eps);
    pull = warp_reduce(products, SumOf()) / static_cast<float>(dim) * rstd * rstd * rstd;
    if (lane == 0) rstds[row * turned + head] = rstd;
  }
#pragma unroll
  for (int i = 0; i < most_pairs; i++) {
    const int d = lane + 32 * i;
    if (d >= half) continue;
    dx[d] = norm ? low[i] * norm[d] * rstd - x[d] * pull : low[i];
    dx[half + d] = norm ? high[i] * norm[half + d] * rstd - x[half + d] * pull : high[i];
  }
}

// partial[block, d] = sum over 64 rows and the heads of one kind of (gradient turned back) x rstd.
__global__ void qkv_dnorm(QkvBackwardArgs a, const float* rstds, int first_head, int head_count, float* partial) {
  VF_DYNAMIC_SHARED(memory);
  float* sums = reinterpret_cast<float*>(memory);  // [row_parts, dim]
  const int dim = a.heads.head_dim, half = dim / 2, turned = a.heads.q_heads + a.heads.kv_heads;
  const int64_t width = static_cast<int64_t>(turned + a.heads.kv_heads) * dim;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * gradient_rows;
  for (int task = threadIdx.x; task < row_parts * dim; task += blockDim.x) {
    const int part = task / dim, d = task % dim, pair = d < half ? d : d - half;
    float sum = 0;
    for (int i = 0; i < gradient_rows / row_parts; i++) {
      const int64_t row = begin + part * (gradient_rows / row_parts) + i;
      if (row >= a.rows) break;
      const float cos = a.cos[static_cast<int64_t>(a.positions[row]) * half + pair],
                  sin = a.sin[static_cast<int64_t>(a.positions[row]) * half + pair];
      for (int h = first_head; h < first_head + head_count; h++) {
        const float* dy = head_gradient(a, row, h);
        const float back = d < half ? dy[d] * cos + dy[half + d] * sin : dy[d] * cos - dy[d - half] * sin;
        sum += back * (a.qkv[row * width + h * dim + d] * rstds[row * turned + h]);
      }
    }
    sums[part * dim + d] = sum;
  }
  __syncthreads();
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float sum = 0;
    for (int part = 0; part < row_parts; part++) sum += sums[part * dim + d];
    partial[static_cast<int64_t>(blockIdx.x) * dim + d] = sum;
  }
}

__global__ void add_blocks(int64_t blocks, int width, const float* partial, float* to) {
  const int d = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (d >= width) return;
  float sum = to[d];
  for (int64_t b = 0; b < blocks; b++) sum += partial[b * width + d];
  to[d] = sum;
}

void require_rotation(const Heads& h) {
  require(h.head_dim > 0 && h.head_dim % 2 == 0 && h.head_dim <= max_head_dim, "VF_UNSUPPORTED",
          "Expected an even head_dim of at most " + std::to_string(max_head_dim) + " but received " +
              std::to_string(h.head_dim));
}

}  // namespace

void cuda_qkv(CudaContext& c, const QkvArgs& a) {
  require_rotation(a.heads);
  if (a.rows == 0) return;
  const int64_t tasks = a.rows * (a.heads.q_heads + 2 * a.heads.kv_heads);
  const dim3 grid(blocks_of(tasks, warps)), threads(32 * warps);
  if (c.bf16) {
    VF_LAUNCH((qkv<bf16_t>), grid, threads, 0, c.stream, a);
  } else {
    VF_LAUNCH((qkv<float>), grid, threads, 0, c.stream, a);
  }
  cuda_check_launch("qkv");
}

void cuda_qkv_backward(CudaContext& c, const QkvBackwardArgs& a) {
  require_rotation(a.heads);
  if (a.rows == 0) return;
  const int64_t tasks = a.rows * (a.heads.q_heads + 2 * a.heads.kv_heads), blocks = blocks_of(a.rows, gradient_rows);
  const int dim = a.heads.head_dim;
  const int64_t rstd_count = round_up(a.rows * (a.heads.q_heads + a.heads.kv_heads), 4);
  float* rstds = c.scratch.get<float>(CudaScratch::layers, rstd_count + blocks * dim);
  float* partial = rstds + rstd_count;
  VF_LAUNCH((qkv_dx), dim3(blocks_of(tasks, warps)), dim3(32 * warps), 0, c.stream, a, rstds);
  const auto norm_gradient = [&](int first_head, int head_count, float* to) {
    VF_LAUNCH((qkv_dnorm), dim3(static_cast<unsigned>(blocks)), dim3(512), row_parts * dim * sizeof(float), c.stream, a,
              rstds, first_head, head_count, partial);
    VF_LAUNCH((add_blocks), dim3(blocks_of(dim, 128)), dim3(128), 0, c.stream, blocks, dim, partial, to);
  };
  if (a.q_norm) norm_gradient(0, a.heads.q_heads, a.dq_norm);
  if (a.k_norm) norm_gradient(a.heads.q_heads, a.heads.kv_heads, a.dk_norm);
  cuda_check_launch("qkv_backward");
}

}  // namespace vf
