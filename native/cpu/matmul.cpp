// Matrix products: cuts the output into tiles for the threads. How it is cut never touches k, so bits do not depend
// on it. With bf16, the forward product takes weights and inputs in bf16; the gradients are f32 products of the same
// rounded weights and inputs (straight through the rounding).
#include <algorithm>

#include "cpu_ops.h"
#include "weight_cache.h"

namespace vf {

namespace {

constexpr int64_t small_task = 1 << 17;  // multiplications that are not worth another task

struct Grid {
  int64_t rows, columns;  // of one task
};

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// The cheapest cut by a model of a task's time in multiplications: the product itself, packing a and (or streaming
// packed) b. Finer cuts than one a thread win when they are nearly free: they even out a busy machine.
Grid choose_grid(const GemmKernels& k, int threads, const GemmArgs& g) {
  const double pack_cost = 40, stream_cost = 6;
  const int64_t most = std::max<int64_t>(1, std::min<int64_t>(4 * threads, g.m * g.n * g.k / small_task));
  Grid best = {g.m, round_up(g.n, k.nr)};
  double best_time = -1;
  for (int64_t parts = 1; parts <= most; parts++)
    for (int64_t row_parts = 1; row_parts <= parts; row_parts++) {
      if (parts % row_parts != 0) continue;
      const int64_t rows = round_up((g.m + row_parts - 1) / row_parts, std::min<int64_t>(k.mr, g.m));
      const int64_t columns = round_up((g.n + parts / row_parts - 1) / (parts / row_parts), k.nr);
      const int64_t tasks = ((g.m + rows - 1) / rows) * ((g.n + columns - 1) / columns);
      const double area = static_cast<double>(rows) * columns;
      const double time = (area + rows * pack_cost + columns * (g.packed ? stream_cost : pack_cost)) *
                          static_cast<double>((tasks + threads - 1) / threads);
      const double handicap = parts > threads ? 0.98 : 1.0;
      if (best_time < 0 || time * handicap < best_time) {
        best_time = time * handicap;
        best = {rows, columns};
      }
    }
  return best;
}

void run_product(CpuContext& context, const GemmArgs& g) {
  if (g.m == 0 || g.n == 0) return;
  const GemmKernels& k = context.k.gemm;
  const int threads = context.pool.threads();
  const Grid grid = choose_grid(k, threads, g);
  const int64_t across = (g.n + grid.columns - 1) / grid.columns, down = (g.m + grid.rows - 1) / grid.rows;
  float* scratch_a = context.scratch.floats(Scratch::gemm_a, threads * k.scratch_a);
  float* scratch_b = g.packed ? nullptr : context.scratch.floats(Scratch::gemm_b, threads * k.scratch_b);
  context.pool.parallel_for(across * down, [&](int64_t task, int thread) {
    const int64_t row = task / across * grid.rows, column = task % across * grid.columns;
    const GemmTile tile = {row, std::min(g.m, row + grid.rows), column, std::min(g.n, column + grid.columns)};
    float* a = scratch_a + thread * k.scratch_a;
    if (!g.packed) return k.product(g, tile, a, scratch_b + thread * k.scratch_b);
    (context.bf16 ? k.packed_product_bf16 : k.packed_product)(g, tile, a);
  });
}

}  // namespace

void cpu_matmul(CpuContext& context, const MatmulArgs& args) {
  if (args.rows == 0) return;
  GemmArgs g = {};
  g.m = args.rows;
  g.n = args.out;
  g.k = args.in;
  g.a = args.x;
  g.a_row = args.in;
  g.a_k = 1;
  g.packed = context.weights.packed(context, args.w, args.out, args.in);
  g.c = args.y;
  g.ldc = args.out;
  g.accumulate = args.accumulate;
  g.bias = args.bias;
  run_product(context, g);
}

void cpu_matmul_input_grad(CpuContext& context, const MatmulInputGradArgs& args) {
  GemmArgs g = {};
  g.m = args.rows;
  g.n = args.in;
  g.k = args.out;
  g.a = args.dy;
  g.a_row = args.out;
  g.a_k = 1;
  g.b = args.w;
  g.b_row = 1;
  g.b_k = args.in;
  g.round_b = context.bf16;
  g.c = args.dx;
  g.ldc = args.in;
  g.accumulate = args.accumulate;
  run_product(context, g);
}

void cpu_matmul_weight_grad(CpuContext& context, const MatmulWeightGradArgs& args) {
  GemmArgs g = {};
  g.m = args.out;
  g.n = args.in;
  g.k = args.rows;
  g.a = args.dy;
  g.a_row = 1;
  g.a_k = args.out;
  g.b = args.x;
  g.b_row = 1;
  g.b_k = args.in;
  g.round_b = context.bf16;
  g.c = args.dw;
  g.ldc = args.in;
  g.accumulate = true;
  run_product(context, g);
  if (!args.dbias) return;
  constexpr int64_t width = 64;
  context.pool.parallel_for((args.out + width - 1) / width, [&](int64_t task, int) {
    const int64_t begin = task * width;
    context.k.rows.add_column_sums(args.dy + begin, args.rows, args.out, std::min(width, args.out - begin),
                                   args.dbias + begin);
  });
}

}  // namespace vf
