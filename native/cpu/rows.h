// The table of kernels over rows of logits and over flat parameter arrays; the kernels are in rows.inc.
#pragma once
#include <cstdint>

#include "../ops/ops.h"

namespace vf {

// The LM head is taken for a multiple of this many rows at a time: a multiple of every micro-kernel's height (14, 6
// and 2), so that chunks, and with them the order in which rows are added, are the same for every instruction set.
constexpr int logprob_rows = 42;

// A vocabulary chunk's part of a log-sum-exp: the largest scaled logit and the sum of exp(scaled - largest).
struct ChunkSum {
  float largest, sum;
};

struct RowKernels {
  // Over count <= vocab_chunk logits; scaled = logits * scale. 16 lanes, fixed tree.
  ChunkSum (*chunk_sum)(const float* logits, int64_t count, float scale);
  // -sum p log p over count <= vocab_chunk logits, p = exp(scaled - lse).
  double (*chunk_entropy)(const float* logits, int64_t count, float scale, double lse);
  // weights[v] = exp(logits[v] * scale - shift)
  void (*exp_weights)(const float* logits, int64_t count, float scale, float shift, float* weights);
  // logits[v] = -coefficient * exp(logits[v] * scale - lse), in place
  void (*probability_gradient)(float* logits, int64_t count, float scale, double lse, float coefficient);
  // Index of the largest, the first of equals; NaNs are passed over; 0 when nothing is left.
  int64_t (*argmax)(const float* x, int64_t count);
  // out[j] += sum of x[r * stride + j] over rows, j < width: a chain over 512 rows at a time
  void (*add_column_sums)(const float* x, int64_t rows, int64_t stride, int64_t width, float* out);
  void (*adamw)(const AdamWArgs&, int64_t begin, int64_t end);
  // sum of squares in double: 16 lanes, fixed tree
  double (*squares)(const float* x, int64_t count);
};

}  // namespace vf
