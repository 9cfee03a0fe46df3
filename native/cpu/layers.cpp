// The ops of a model's layers but for its products and attention: tasks are fixed ranges of rows or columns, so that
// no result depends on the number of threads.
#include <cstring>
#include <string>

#include "../core/error.h"
#include "cpu_ops.h"

namespace vf {

namespace {

constexpr int64_t task_floats = 8192;  // about what is worth a task
constexpr int64_t column_step = 64;

int64_t pieces(int64_t count, int64_t step) { return (count + step - 1) / step; }
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Calls body(begin, end) for ranges of rows of `width` floats.
template <class Body>
void parallel_rows(CpuContext& c, int64_t rows, int64_t width, const Body& body) {
  const int64_t step = width >= task_floats ? 1 : task_floats / (width > 0 ? width : 1);
  c.pool.parallel_for(pieces(rows, step),
                      [&](int64_t task, int) { body(task * step, least(rows, (task + 1) * step)); });
}

// to[index[r]] += from[r] in the order of r: a task takes a range of columns of all rows.
void add_rows(CpuContext& c, int64_t rows, int64_t width, const int32_t* index, const float* from, float* to) {
  const int64_t share = pieces(width, c.pool.threads());
  const int64_t step = rows * width <= task_floats ? width : pieces(share, column_step) * column_step;
  if (step == 0) return;
  c.pool.parallel_for(pieces(width, step), [&](int64_t task, int) {
    const int64_t begin = task * step, count = least(width, begin + step) - begin;
    for (int64_t r = 0; r < rows; r++) {
      c.k.layers.add_to(to + index[r] * width + begin, from + r * width + begin, count);
    }
  });
}

void copy_rows(CpuContext& c, int64_t rows, int64_t width, const int32_t* index, const float* from, float* to) {
  parallel_rows(c, rows, width, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      std::memcpy(to + r * width, from + index[r] * width, width * sizeof(float));
    }
  });
}

void require_heads(const Heads& h) {
  require(h.head_dim > 0 && h.head_dim % 2 == 0 && h.head_dim <= max_head_dim, "VF_UNSUPPORTED",
          "Expected an even head_dim of at most " + std::to_string(max_head_dim) + " but received " +
              std::to_string(h.head_dim));
}

}  // namespace

void cpu_embed(CpuContext& c, const EmbedArgs& a) { copy_rows(c, a.rows, a.hidden, a.ids, a.table, a.y); }

void cpu_embed_backward(CpuContext& c, const EmbedBackwardArgs& a) {
  add_rows(c, a.rows, a.hidden, a.ids, a.dy, a.dtable);
}

void cpu_gather_rows(CpuContext& c, const GatherRowsArgs& a) { copy_rows(c, a.rows, a.width, a.index, a.x, a.y); }

void cpu_scatter_rows(CpuContext& c, const ScatterRowsArgs& a) { add_rows(c, a.rows, a.width, a.index, a.dy, a.dx); }

void cpu_rmsnorm(CpuContext& c, const RmsNormArgs& a) {
  parallel_rows(c, a.rows, a.width, [&](int64_t begin, int64_t end) { c.k.layers.rmsnorm(a, begin, end); });
}

void cpu_rmsnorm_backward(CpuContext& c, const RmsNormBackwardArgs& a) {
  const int64_t blocks = pieces(a.rows, layer_gradient_rows);
  float* partial = c.scratch.floats(Scratch::layers, blocks * a.width);
  c.pool.parallel_for(blocks, [&](int64_t b, int) {
    c.k.layers.rmsnorm_backward(a, b * layer_gradient_rows, least(a.rows, (b + 1) * layer_gradient_rows),
                                partial + b * a.width);
  });
  for (int64_t b = 0; b < blocks; b++) c.k.layers.add_to(a.dweight, partial + b * a.width, a.width);
}

void cpu_qkv(CpuContext& c, const QkvArgs& a) {
  require_heads(a.heads);
  parallel_rows(c, a.rows, a.heads.qkv_width(), [&](int64_t begin, int64_t end) { c.k.layers.qkv(a, begin, end); });
}

void cpu_qkv_backward(CpuContext& c, const QkvBackwardArgs& a) {
  require_heads(a.heads);
  const int64_t blocks = pieces(a.rows, layer_gradient_rows), dim = a.heads.head_dim;
  float* partial = c.scratch.floats(Scratch::layers, blocks * 2 * dim);
  c.pool.parallel_for(blocks, [&](int64_t b, int) {
    float* sums = partial + b * 2 * dim;
    c.k.layers.qkv_backward(a, b * layer_gradient_rows, least(a.rows, (b + 1) * layer_gradient_rows), sums, sums + dim);
  });
  for (int64_t b = 0; b < blocks; b++) {
    if (a.q_norm) c.k.layers.add_to(a.dq_norm, partial + b * 2 * dim, dim);
    if (a.k_norm) c.k.layers.add_to(a.dk_norm, partial + b * 2 * dim + dim, dim);
  }
}

void cpu_swiglu(CpuContext& c, const SwigluArgs& a) {
  parallel_rows(c, a.rows, a.width, [&](int64_t begin, int64_t end) { c.k.layers.swiglu(a, begin, end); });
}

void cpu_swiglu_backward(CpuContext& c, const SwigluBackwardArgs& a) {
  parallel_rows(c, a.rows, a.width, [&](int64_t begin, int64_t end) { c.k.layers.swiglu_backward(a, begin, end); });
}

}  // namespace vf
