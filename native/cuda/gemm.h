// The matrix product of bf16 operands that matmul and logprob share: own tensor-core kernel, or cuBLASLt's.
#pragma once
#include "cuda_ops.h"

namespace vf {

// c [m, n] (+)= a b^T (+ bias), f32 sums. a is [m, k] with rows of lda elements, or, where a_transposed, stored [k, m];
// b is [n, k] or, where b_transposed, stored [k, n]. Leading dimensions are multiples of 8 and the pad is zero.
struct Gemm {
  int64_t m, n, k;
  const bf16_t* a;
  int64_t lda;
  bool a_transposed;
  const bf16_t* b;
  int64_t ldb;
  bool b_transposed;
  float* c;
  int64_t ldc;
  bool accumulate;
  const float* bias;  // [n] or null
};
void cuda_gemm(CudaContext&, const Gemm&);

// The same in f32 throughout: a(i, k) = a[i * a_row + k * a_k], b(j, k) likewise.
struct PlainGemm {
  int64_t m, n, k;
  const float* a;
  int64_t a_row, a_k;
  const float* b;
  int64_t b_row, b_k;
  float* c;
  int64_t ldc;
  bool accumulate;
  const float* bias;
};
void cuda_plain_gemm(CudaContext&, const PlainGemm&);

// x [rows, columns] rounded to bf16 in a scratch buffer, rows padded with zeros to round_up(columns, 8).
const bf16_t* cuda_to_bf16(CudaContext&, CudaScratch slot, const float* x, int64_t rows, int64_t columns);
// The bf16 copy of a weight matrix, made anew where it is stale.
const bf16_t* cuda_weight_copy(CudaContext&, const float* w, int64_t rows, int64_t columns);

}  // namespace vf
