// The tensor-core product of gemm.h: tiles through shared memory in a ring of stages filled by cp.async, fragments by
// ldmatrix, products by mma.sync. Out of range is zero-filled, so any size works.
#pragma once
#include "gemm.h"

namespace vf {

// Tile [bm, bn] of a block, [wm, wn] of a warp.
template <int Bm, int Bn, int Wm, int Wn>
struct GemmTile {
  static constexpr int bm = Bm, bn = Bn, wm = Wm, wn = Wn, bk = 32, stages = 4;
  static constexpr int warps_m = Bm / Wm, warps_n = Bn / Wn, threads = 32 * warps_m * warps_n;
};

// One operand's tile of a stage in shared memory: [size, bk + 8], or [bk, size + 8] where stored transposed. The pad of
// 16 bytes spreads the rows that ldmatrix reads over all banks.
template <int Size, bool Transposed, int Bk, int Threads>
struct OperandTile {
  static constexpr int lines = Transposed ? Bk : Size, width = Transposed ? Size : Bk, step = width + 8,
                       elements = lines * step;

  // Starts the copy of rows [row, row + Size) and depths [k, k + Bk).
  static __device__ __forceinline__ void load(bf16_t* tile, const bf16_t* x, int64_t ld, int64_t rows, int64_t row,
                                              int64_t k, int64_t k_end) {
    constexpr int chunks = lines * width / 8;
#pragma unroll
    for (int i = 0; i < (chunks + Threads - 1) / Threads; i++) {
      const int chunk = threadIdx.x + i * Threads;
      if (chunks % Threads != 0 && chunk >= chunks) break;
      const int line = chunk / (width / 8), column = chunk % (width / 8) * 8;
      const int64_t at_line = (Transposed ? k : row) + line, at_column = (Transposed ? row : k) + column;
      // columns up to the next multiple of 8 are there: data or the zero pad
      const bool valid = at_line < (Transposed ? k_end : rows) && at_column < (Transposed ? rows : k_end);
      cp_async(tile + line * step + column, valid ? x + at_line * ld + at_column : x, valid);
    }
  }
  // The fragment of rows [row, row + 16), depths [k, k + 16) as operand a.
  static __device__ __forceinline__ void fragment_a(uint32_t (&r)[4], const bf16_t* tile, int row, int k) {
    const int l = threadIdx.x % 32;
    if (Transposed) {
      ldmatrix_transposed(r, tile + (k + l % 8 + l / 16 * 8) * step + row + l / 8 % 2 * 8);
    } else {
      ldmatrix(r, tile + (row + l % 8 + l / 8 % 2 * 8) * step + k + l / 16 * 8);
    }
  }
  // Two fragments as operand b: rows [row, row + 8) in words 0 and 1, the next 8 in words 2 and 3.
  static __device__ __forceinline__ void fragment_b(uint32_t (&r)[4], const bf16_t* tile, int row, int k) {
    const int l = threadIdx.x % 32;
    if (Transposed) {
      ldmatrix_transposed(r, tile + (k + l % 8 + l / 8 % 2 * 8) * step + row + l / 16 * 8);
    } else {
      ldmatrix(r, tile + (row + l % 8 + l / 16 * 8) * step + k + l / 8 % 2 * 8);
    }
  }
};

// Block z takes the depths [z, z + 1) * k_part; with several, each writes its own [m, n] of c.
template <class T, bool ATransposed, bool BTransposed>
__global__ void __launch_bounds__(T::threads) gemm_mma(Gemm g, int64_t k_part) {
  using TileA = OperandTile<T::bm, ATransposed, T::bk, T::threads>;
  using TileB = OperandTile<T::bn, BTransposed, T::bk, T::threads>;
  VF_DYNAMIC_SHARED(memory);
  bf16_t* const tiles_a = reinterpret_cast<bf16_t*>(memory);
  bf16_t* const tiles_b = tiles_a + T::stages * TileA::elements;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_m = warp % T::warps_m * T::wm, warp_n = warp / T::warps_m * T::wn;
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * T::bm, n0 = static_cast<int64_t>(blockIdx.y) * T::bn;
  const int64_t k_begin = static_cast<int64_t>(blockIdx.z) * k_part,
                k_end = k_begin + k_part < g.k ? k_begin + k_part : g.k;
  const int steps = static_cast<int>((k_end - k_begin + T::bk - 1) / T::bk);

  const auto load = [&](int step) {
    if (step < steps) {
      const int slot = step % T::stages;
      const int64_t k = k_begin + static_cast<int64_t>(step) * T::bk;
      TileA::load(tiles_a + slot * TileA::elements, g.a, g.lda, g.m, m0, k, k_end);
      TileB::load(tiles_b + slot * TileB::elements, g.b, g.ldb, g.n, n0, k, k_end);
    }
    cp_async_commit();
  };

  float sums[T::wm / 16][T::wn / 8][4];
#pragma unroll
  for (int i = 0; i < T::wm / 16; i++)
#pragma unroll
    for (int j = 0; j < T::wn / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sums[i][j][e] = 0;

  for (int step = 0; step < T::stages - 1; step++) load(step);
  for (int step = 0; step < steps; step++) {
    cp_async_wait<T::stages - 2>();
    __syncthreads();
    load(step + T::stages - 1);
    const bf16_t* a = tiles_a + step % T::stages * TileA::elements;
    const bf16_t* b = tiles_b + step % T::stages * TileB::elements;
#pragma unroll
    for (int k = 0; k < T::bk; k += 16) {
      uint32_t fa[T::wm / 16][4], fb[T::wn / 16][4];
#pragma unroll
      for (int i = 0; i < T::wm / 16; i++) TileA::fragment_a(fa[i], a, warp_m + 16 * i, k);
#pragma unroll
      for (int j = 0; j < T::wn / 16; j++) TileB::fragment_b(fb[j], b, warp_n + 16 * j, k);
#pragma unroll
      for (int i = 0; i < T::wm / 16; i++)
#pragma unroll
        for (int j = 0; j < T::wn / 8; j++)
          mma_bf16(sums[i][j], fa[i], {fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]});
    }
  }
  cp_async_wait<0>();

  float* c = g.c + static_cast<int64_t>(blockIdx.z) * g.m * g.n;
#pragma unroll
  for (int i = 0; i < T::wm / 16; i++)
#pragma unroll
    for (int j = 0; j < T::wn / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int64_t row = m0 + warp_m + 16 * i + lane / 4 + e / 2 * 8,
                      column = n0 + warp_n + 8 * j + lane % 4 * 2 + e % 2;
        if (row >= g.m || column >= g.n) continue;
        float* to = c + row * g.ldc + column;
        float value = sums[i][j][e];
        if (g.bias) value += g.bias[column];
        *to = g.accumulate ? *to + value : value;
      }
}

}  // namespace vf
