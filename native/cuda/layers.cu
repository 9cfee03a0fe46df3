// The ops of a model's layers but for its products and attention. Sums over rows are taken by one thread in order or in
// fixed blocks of 64 rows: no atomics, the same bits every run.
#include "cuda_ops.h"
#include "reduce.cuh"

namespace vf {

namespace {

constexpr int gradient_rows = 64;
constexpr int threads = 256;

__global__ void __launch_bounds__(threads)
    copy_rows(int64_t width, const int32_t* index, const float* from, float* to) {
  const int64_t row = blockIdx.x;
  const float* source = from + index[row] * width;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) to[row * width + i] = source[i];
}

// to[index[r]] += from[r]: the block of the first row with an index adds all rows with it, in their order.
__global__ void __launch_bounds__(threads)
    add_rows(int64_t rows, int64_t width, const int32_t* index, const float* from, float* to) {
  __shared__ int32_t matches[threads];
  __shared__ int counts[threads / 32];
  const int64_t row = blockIdx.x;
  const int32_t target = index[row];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bool seen = false;
  for (int64_t r = threadIdx.x; r < row; r += blockDim.x) seen |= index[r] == target;
  const unsigned seen_by = __ballot_sync(all_lanes, seen);
  if (lane == 0) counts[warp] = seen_by != 0;
  __syncthreads();
  int earlier = 0;
  for (int w = 0; w < threads / 32; w++) earlier |= counts[w];
  if (earlier) return;
  __syncthreads();
  for (int64_t begin = row; begin < rows; begin += blockDim.x) {
    const int64_t r = begin + threadIdx.x;
    const bool match = r < rows && index[r] == target;
    const unsigned votes = __ballot_sync(all_lanes, match);
    if (lane == 0) counts[warp] = __popc(votes);
    __syncthreads();
    int at = __popc(votes & ((1u << lane) - 1)), total = 0;
    for (int w = 0; w < threads / 32; w++) {
      if (w < warp) at += counts[w];
      total += counts[w];
    }
    if (match) matches[at] = threadIdx.x;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      float sum = to[target * width + i];
      for (int m = 0; m < total; m++) sum += from[(begin + matches[m]) * width + i];
      to[target * width + i] = sum;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(threads) rmsnorm(RmsNormArgs a) {
  __shared__ float parts[32];
  const float* x = a.x + blockIdx.x * a.width;
  float* y = a.y + blockIdx.x * a.width;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) squares += x[i] * x[i];
  squares = block_reduce(squares, SumOf(), 0.0f, parts);
  const float rstd = 1.0f / sqrtf(squares / static_cast<float>(a.width) + a.eps);
  if (threadIdx.x == 0 && a.rstd) a.rstd[blockIdx.x] = rstd;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) y[i] = x[i] * rstd * a.weight[i];
}

// dx (+)= rstd dy w - x rstd^3 mean(dy w x)
__global__ void __launch_bounds__(threads) rmsnorm_dx(RmsNormBackwardArgs a) {
  __shared__ float parts[32];
  const int64_t at = blockIdx.x * a.width;
  const float *x = a.x + at, *dy = a.dy + at;
  float products = 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) products += dy[i] * a.weight[i] * x[i];
  products = block_reduce(products, SumOf(), 0.0f, parts);
  const float rstd = a.rstd[blockIdx.x], pull = products / static_cast<float>(a.width) * rstd * rstd * rstd;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    const float d = dy[i] * a.weight[i] * rstd - x[i] * pull;
    a.dx[at + i] = a.accumulate_dx ? a.dx[at + i] + d : d;
  }
}

// partial[b, i] = sum over the rows of block b of dy x rstd
__global__ void __launch_bounds__(threads) rmsnorm_dweight(RmsNormBackwardArgs a, float* partial) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                begin = static_cast<int64_t>(blockIdx.y) * gradient_rows;
  if (i >= a.width) return;
  const int64_t end = begin + gradient_rows < a.rows ? begin + gradient_rows : a.rows;
  float sum = 0;
  for (int64_t r = begin; r < end; r++) sum += a.dy[r * a.width + i] * (a.x[r * a.width + i] * a.rstd[r]);
  partial[blockIdx.y * a.width + i] = sum;
}

// to[i] += partial[b * stride + i] over b in order
__global__ void __launch_bounds__(threads)
    add_partials(int64_t blocks, int64_t width, int64_t stride, const float* partial, float* to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= width) return;
  float sum = to[i];
  for (int64_t b = 0; b < blocks; b++) sum += partial[b * stride + i];
  to[i] = sum;
}

__global__ void __launch_bounds__(threads) swiglu(SwigluArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.width) return;
  const int64_t at = i / a.width * 2 * a.width + i % a.width;
  const float g = a.gate_up[at];
  a.y[i] = g / (1.0f + expf(-g)) * a.gate_up[at + a.width];
}

// s = sigmoid(g):  dgate = dy up s (1 + g (1 - s)), dup = dy g s
__global__ void __launch_bounds__(threads) swiglu_backward(SwigluBackwardArgs a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.width) return;
  const int64_t at = i / a.width * 2 * a.width + i % a.width;
  const float g = a.gate_up[at], up = a.gate_up[at + a.width], dy = a.dy[i], s = 1.0f / (1.0f + expf(-g));
  a.dgate_up[at] = dy * up * (s * (1.0f + g * (1.0f - s)));
  a.dgate_up[at + a.width] = dy * (g * s);
}

void launch_add_rows(CudaContext& c, int64_t rows, int64_t width, const int32_t* index, const float* from, float* to,
                     const char* op) {
  if (rows == 0) return;
  VF_LAUNCH((add_rows), dim3(static_cast<unsigned>(rows)), dim3(threads), 0, c.stream, rows, width, index, from, to);
  cuda_check_launch(op);
}

void launch_copy_rows(CudaContext& c, int64_t rows, int64_t width, const int32_t* index, const float* from, float* to,
                      const char* op) {
  if (rows == 0) return;
  VF_LAUNCH((copy_rows), dim3(static_cast<unsigned>(rows)), dim3(threads), 0, c.stream, width, index, from, to);
  cuda_check_launch(op);
}

}  // namespace

void cuda_embed(CudaContext& c, const EmbedArgs& a) {
  launch_copy_rows(c, a.rows, a.hidden, a.ids, a.table, a.y, "embed");
}
void cuda_embed_backward(CudaContext& c, const EmbedBackwardArgs& a) {
  launch_add_rows(c, a.rows, a.hidden, a.ids, a.dy, a.dtable, "embed_backward");
}
void cuda_gather_rows(CudaContext& c, const GatherRowsArgs& a) {
  launch_copy_rows(c, a.rows, a.width, a.index, a.x, a.y, "gather_rows");
}
void cuda_scatter_rows(CudaContext& c, const ScatterRowsArgs& a) {
  launch_add_rows(c, a.rows, a.width, a.index, a.dy, a.dx, "scatter_rows");
}

void cuda_rmsnorm(CudaContext& c, const RmsNormArgs& a) {
  if (a.rows == 0) return;
  VF_LAUNCH((rmsnorm), dim3(static_cast<unsigned>(a.rows)), dim3(threads), 0, c.stream, a);
  cuda_check_launch("rmsnorm");
}

void cuda_rmsnorm_backward(CudaContext& c, const RmsNormBackwardArgs& a) {
  if (a.rows == 0) return;
  VF_LAUNCH((rmsnorm_dx), dim3(static_cast<unsigned>(a.rows)), dim3(threads), 0, c.stream, a);
  const int64_t blocks = blocks_of(a.rows, gradient_rows);
  float* partial = c.scratch.get<float>(CudaScratch::layers, blocks * a.width);
  VF_LAUNCH((rmsnorm_dweight), dim3(blocks_of(a.width, threads), static_cast<unsigned>(blocks)), dim3(threads), 0,
            c.stream, a, partial);
  VF_LAUNCH((add_partials), dim3(blocks_of(a.width, threads)), dim3(threads), 0, c.stream, blocks, a.width, a.width,
            partial, a.dweight);
  cuda_check_launch("rmsnorm_backward");
}

void cuda_swiglu(CudaContext& c, const SwigluArgs& a) {
  if (a.rows * a.width == 0) return;
  VF_LAUNCH((swiglu), dim3(blocks_of(a.rows * a.width, threads)), dim3(threads), 0, c.stream, a);
  cuda_check_launch("swiglu");
}

void cuda_swiglu_backward(CudaContext& c, const SwigluBackwardArgs& a) {
  if (a.rows * a.width == 0) return;
  VF_LAUNCH((swiglu_backward), dim3(blocks_of(a.rows * a.width, threads)), dim3(threads), 0, c.stream, a);
  cuda_check_launch("swiglu_backward");
}

}  // namespace vf
