// The table of the element-wise and row-wise kernels of a model's layers; the kernels are in layers.inc.
#pragma once
#include "../ops/ops.h"

namespace vf {

// The widest head of the qkv and attention kernels, whose buffers for one head are on the stack.
constexpr int max_head_dim = 256;
// Rows of one partial sum of a weight's gradient; partial sums are added in order.
constexpr int layer_gradient_rows = 64;

struct LayerKernels {
  void (*rmsnorm)(const RmsNormArgs&, int64_t begin, int64_t end);
  // dweight [width] of these rows alone is written
  void (*rmsnorm_backward)(const RmsNormBackwardArgs&, int64_t begin, int64_t end, float* dweight);
  void (*qkv)(const QkvArgs&, int64_t begin, int64_t end);
  // dq_norm and dk_norm [head_dim] of these rows alone are written, where the args have a norm
  void (*qkv_backward)(const QkvBackwardArgs&, int64_t begin, int64_t end, float* dq_norm, float* dk_norm);
  void (*swiglu)(const SwigluArgs&, int64_t begin, int64_t end);
  void (*swiglu_backward)(const SwigluBackwardArgs&, int64_t begin, int64_t end);
  // to[i] += from[i]
  void (*add_to)(float* to, const float* from, int64_t count);
};

}  // namespace vf
