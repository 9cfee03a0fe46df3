// The table of the matrix product kernels and what they are given; the kernels are in gemm.inc.
#pragma once
#include <cstdint>

namespace vf {

// Depth of a block: an output element is one FMA chain over the k of a block, blocks added in order. The same for
// every instruction set, and a constant of the results' bits.
constexpr int gemm_kc = 512;

// c[i, j] (+)= sum_k a(i, k) b(j, k) (+ bias[j]);  a(i, k) = a[i * a_row + k * a_k], b(j, k) likewise.
// One of the two strides of a and of b is 1. c has rows of ldc floats.
struct GemmArgs {
  int64_t m, n, k;
  const float* a;
  int64_t a_row, a_k;
  const float* b;  // unused by the packed products
  int64_t b_row, b_k;
  const void* packed;  // by `prepack` (or `prepack_bf16`) of the same table
  float* c;
  int64_t ldc;
  bool accumulate;
  bool round_b;       // b is rounded to bf16 first
  const float* bias;  // [n] or null
};

// One task's part of the output; column_begin is a multiple of nr.
struct GemmTile {
  int64_t row_begin, row_end, column_begin, column_end;
};

struct GemmKernels {
  int mr, nr;                    // height and width of the micro-kernel
  int mc, nc;                    // rows and columns packed at a time
  int64_t scratch_a, scratch_b;  // floats a thread needs
  // b as panels of nr columns: per block of gemm_kc, [n / nr][k][nr], the last panel filled with zeros. Panels
  // [panel_begin, panel_end) of every block. The whole is k * (n rounded up to nr) floats.
  void (*prepack)(const float* b, int64_t n, int64_t k, void* packed, int64_t panel_begin, int64_t panel_end);
  void (*packed_product)(const GemmArgs&, const GemmTile&, float* scratch_a);
  void (*product)(const GemmArgs&, const GemmTile&, float* scratch_a, float* scratch_b);
  // bf16 weights and products, f32 sums; null where the set has none. Pairs of k: [n / nr][k / 2][nr][2].
  void (*prepack_bf16)(const float* b, int64_t n, int64_t k, void* packed, int64_t panel_begin, int64_t panel_end);
  void (*packed_product_bf16)(const GemmArgs&, const GemmTile&, float* scratch_a);
};

}  // namespace vf
