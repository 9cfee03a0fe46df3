// Matrix products: rounds the operands to bf16, chooses tiles and how many blocks share the depth (their parts are
// added in order), or multiplies in f32 without tensor cores where the policy asked for f32.
#include <algorithm>

#include "cublaslt.h"
#include "gemm_mma.cuh"

namespace vf {

namespace {

constexpr int threads = 256;
constexpr int plain_tile = 64, plain_depth = 16, plain_own = 4;

// Eight elements a thread; ld = round_up(columns, 8).
__global__ void __launch_bounds__(threads)
    round_rows(const float* x, int64_t rows, int64_t columns, int64_t ld, bf16_t* out) {
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 8;
  if (at >= rows * ld) return;
  const int64_t row = at / ld, column = at % ld;
  float v[8];
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = column + i < columns ? x[row * columns + column + i] : 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i += 2) store_word(out + at + i, pack_bf16(v[i], v[i + 1]));
}

// c (+)= sum over parts, in order, of parts[p] [m, n] (+ bias)
__global__ void __launch_bounds__(threads) add_parts(Gemm g, const float* parts, int count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, size = g.m * g.n;
  if (i >= size) return;
  float sum = 0;
  for (int p = 0; p < count; p++) sum += parts[p * size + i];
  const int64_t row = i / g.n, column = i % g.n;
  if (g.bias) sum += g.bias[column];
  float* to = g.c + row * g.ldc + column;
  *to = g.accumulate ? *to + sum : sum;
}

__global__ void __launch_bounds__(threads) plain_gemm(PlainGemm g) {
  __shared__ float a[plain_depth][plain_tile + 4], b[plain_depth][plain_tile + 4];
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * plain_tile, n0 = static_cast<int64_t>(blockIdx.y) * plain_tile;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sums[plain_own][plain_own] = {};
  for (int64_t k0 = 0; k0 < g.k; k0 += plain_depth) {
    for (int i = threadIdx.x; i < plain_tile * plain_depth; i += threads) {
      // neighbours in the thread index read neighbours in memory
      const int ka = g.a_k == 1 ? i % plain_depth : i / plain_tile, ra = g.a_k == 1 ? i / plain_depth : i % plain_tile;
      const int kb = g.b_k == 1 ? i % plain_depth : i / plain_tile, rb = g.b_k == 1 ? i / plain_depth : i % plain_tile;
      a[ka][ra] = m0 + ra < g.m && k0 + ka < g.k ? g.a[(m0 + ra) * g.a_row + (k0 + ka) * g.a_k] : 0.0f;
      b[kb][rb] = n0 + rb < g.n && k0 + kb < g.k ? g.b[(n0 + rb) * g.b_row + (k0 + kb) * g.b_k] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < plain_depth; k++)
#pragma unroll
      for (int i = 0; i < plain_own; i++)
#pragma unroll
        for (int j = 0; j < plain_own; j++)
          sums[i][j] = fmaf(a[k][ty * plain_own + i], b[k][tx * plain_own + j], sums[i][j]);
    __syncthreads();
  }
  for (int i = 0; i < plain_own; i++)
    for (int j = 0; j < plain_own; j++) {
      const int64_t row = m0 + ty * plain_own + i, column = n0 + tx * plain_own + j;
      if (row >= g.m || column >= g.n) continue;
      float* to = g.c + row * g.ldc + column;
      const float value = g.bias ? sums[i][j] + g.bias[column] : sums[i][j];
      *to = g.accumulate ? *to + value : value;
    }
}

constexpr int64_t sum_rows = 512;
// partial[b, j] = sum of x[r, j] over 512 rows
__global__ void __launch_bounds__(threads) column_sums(const float* x, int64_t rows, int64_t width, float* partial) {
  const int64_t j = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                begin = static_cast<int64_t>(blockIdx.y) * sum_rows;
  if (j >= width) return;
  const int64_t end = begin + sum_rows < rows ? begin + sum_rows : rows;
  float sum = 0;
  for (int64_t r = begin; r < end; r++) sum += x[r * width + j];
  partial[blockIdx.y * width + j] = sum;
}
__global__ void __launch_bounds__(threads)
    add_column_parts(const float* partial, int64_t parts, int64_t width, float* to) {
  const int64_t j = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j >= width) return;
  float sum = to[j];
  for (int64_t p = 0; p < parts; p++) sum += partial[p * width + j];
  to[j] = sum;
}

template <class T, bool ATransposed, bool BTransposed>
void launch_tiles(CudaContext& c, const Gemm& whole) {
  using TileA = OperandTile<T::bm, ATransposed, T::bk, T::threads>;
  using TileB = OperandTile<T::bn, BTransposed, T::bk, T::threads>;
  constexpr size_t shared = sizeof(bf16_t) * T::stages * (TileA::elements + TileB::elements);
  cuda_check(cudaFuncSetAttribute(gemm_mma<T, ATransposed, BTransposed>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared)),
             "shared memory of a matrix product");
  const unsigned across = blocks_of(whole.m, T::bm), down = blocks_of(whole.n, T::bn);
  // too few tiles for the chip: several blocks share the depth, each of at least 256
  int64_t parts = 2 * static_cast<int64_t>(c.processors) / (static_cast<int64_t>(across) * down);
  parts = std::min<int64_t>(std::min<int64_t>(parts, whole.k / 256), 16);
  if (parts < 2) {
    VF_LAUNCH((gemm_mma<T, ATransposed, BTransposed>), dim3(across, down), dim3(T::threads), shared, c.stream, whole,
              whole.k);
    return;
  }
  const int64_t k_part = round_up((whole.k + parts - 1) / parts, T::bk);
  parts = (whole.k + k_part - 1) / k_part;
  Gemm g = whole;
  g.c = c.scratch.get<float>(CudaScratch::partials, parts * g.m * g.n);
  g.ldc = g.n;
  g.accumulate = false;
  g.bias = nullptr;
  VF_LAUNCH((gemm_mma<T, ATransposed, BTransposed>), dim3(across, down, static_cast<unsigned>(parts)), dim3(T::threads),
            shared, c.stream, g, k_part);
  VF_LAUNCH((add_parts), dim3(blocks_of(g.m * g.n, threads)), dim3(threads), 0, c.stream, whole, g.c,
            static_cast<int>(parts));
}

using LargeTile = GemmTile<128, 128, 64, 32>;
using SmallTile = GemmTile<64, 64, 32, 32>;
using ThinTile = GemmTile<16, 128, 16, 32>;

template <bool ATransposed, bool BTransposed>
void launch_gemm(CudaContext& c, const Gemm& g) {
  if (!ATransposed && g.m <= 16) return launch_tiles < ThinTile, ATransposed && false, BTransposed > (c, g);
  const int64_t large = static_cast<int64_t>(blocks_of(g.m, LargeTile::bm)) * blocks_of(g.n, LargeTile::bn);
  if (g.m > 64 && g.n > 64 && large >= c.processors) return launch_tiles<LargeTile, ATransposed, BTransposed>(c, g);
  launch_tiles<SmallTile, ATransposed, BTransposed>(c, g);
}

}  // namespace

void cuda_gemm(CudaContext& c, const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  if (c.lt && !g.bias && g.m > 16) {
    c.lt->multiply(c, g);
    return;
  }
  if (g.a_transposed) {
    launch_gemm<true, true>(c, g);
  } else if (g.b_transposed) {
    launch_gemm<false, true>(c, g);
  } else {
    launch_gemm<false, false>(c, g);
  }
  cuda_check_launch("matmul");
}

void cuda_plain_gemm(CudaContext& c, const PlainGemm& g) {
  if (g.m == 0 || g.n == 0) return;
  VF_LAUNCH((plain_gemm), dim3(blocks_of(g.m, plain_tile), blocks_of(g.n, plain_tile)), dim3(threads), 0, c.stream, g);
  cuda_check_launch("matmul");
}

namespace {

void launch_rounding(CudaContext& c, const float* x, int64_t rows, int64_t columns, bf16_t* out) {
  const int64_t ld = round_up(columns, 8);
  if (rows > 0)
    VF_LAUNCH((round_rows), dim3(blocks_of(rows * ld, 8 * threads)), dim3(threads), 0, c.stream, x, rows, columns, ld,
              out);
}

}  // namespace

const bf16_t* cuda_to_bf16(CudaContext& c, CudaScratch slot, const float* x, int64_t rows, int64_t columns) {
  bf16_t* out = c.scratch.get<bf16_t>(slot, rows * round_up(columns, 8));
  launch_rounding(c, x, rows, columns, out);
  return out;
}

const bf16_t* cuda_weight_copy(CudaContext& c, const float* w, int64_t rows, int64_t columns) {
  WeightCopy& copy = c.weights[w];
  if (copy.rows < rows || copy.columns != columns) {
    c.memory.release(copy.data);
    copy = WeightCopy();
    copy.data =
        static_cast<bf16_t*>(c.memory.allocate(static_cast<size_t>(rows * round_up(columns, 8)) * sizeof(bf16_t)));
    copy.rows = rows;
    copy.columns = columns;
  }
  if (!copy.fresh) launch_rounding(c, w, copy.rows, columns, copy.data);
  copy.fresh = true;
  return copy.data;
}

void cuda_matmul(CudaContext& c, const MatmulArgs& a) {
  if (!c.bf16)
    return cuda_plain_gemm(c, {a.rows, a.out, a.in, a.x, a.in, 1, a.w, a.in, 1, a.y, a.out, a.accumulate, a.bias});
  const int64_t ld = round_up(a.in, 8);
  const bf16_t* w = cuda_weight_copy(c, a.w, a.out, a.in);
  const bf16_t* x = cuda_to_bf16(c, CudaScratch::operand_a, a.x, a.rows, a.in);
  cuda_gemm(c, {a.rows, a.out, a.in, x, ld, false, w, ld, false, a.y, a.out, a.accumulate, a.bias});
}

void cuda_matmul_input_grad(CudaContext& c, const MatmulInputGradArgs& a) {
  if (!c.bf16)
    return cuda_plain_gemm(c, {a.rows, a.in, a.out, a.dy, a.out, 1, a.w, 1, a.in, a.dx, a.in, a.accumulate, nullptr});
  const bf16_t* w = cuda_weight_copy(c, a.w, a.out, a.in);
  const bf16_t* dy = cuda_to_bf16(c, CudaScratch::operand_a, a.dy, a.rows, a.out);
  cuda_gemm(c, {a.rows, a.in, a.out, dy, round_up(a.out, 8), false, w, round_up(a.in, 8), true, a.dx, a.in,
                a.accumulate, nullptr});
}

void cuda_matmul_weight_grad(CudaContext& c, const MatmulWeightGradArgs& a) {
  if (a.rows == 0) return;
  if (c.bf16) {
    const bf16_t* dy = cuda_to_bf16(c, CudaScratch::operand_a, a.dy, a.rows, a.out);
    const bf16_t* x = cuda_to_bf16(c, CudaScratch::operand_b, a.x, a.rows, a.in);
    cuda_gemm(
        c, {a.out, a.in, a.rows, dy, round_up(a.out, 8), true, x, round_up(a.in, 8), true, a.dw, a.in, true, nullptr});
  } else {
    cuda_plain_gemm(c, {a.out, a.in, a.rows, a.dy, 1, a.out, a.x, 1, a.in, a.dw, a.in, true, nullptr});
  }
  if (!a.dbias) return;
  const unsigned parts = blocks_of(a.rows, sum_rows), across = blocks_of(a.out, threads);
  float* partial = c.scratch.get<float>(CudaScratch::partials, static_cast<int64_t>(parts) * a.out);
  VF_LAUNCH((column_sums), dim3(across, parts), dim3(threads), 0, c.stream, a.dy, a.rows, a.out, partial);
  VF_LAUNCH((add_column_parts), dim3(across), dim3(threads), 0, c.stream, partial, static_cast<int64_t>(parts), a.out,
            a.dbias);
  cuda_check_launch("matmul_weight_grad");
}

}  // namespace vf
