// AdamW and the squared norm over flat arrays, in fixed blocks that the threads share.
#include <algorithm>
#include <vector>

#include "cpu_ops.h"

namespace vf {

void cpu_adamw(CpuContext& context, const AdamWArgs& args) {
  constexpr int64_t block = 1 << 15;
  context.pool.parallel_for((args.count + block - 1) / block, [&](int64_t task, int) {
    context.k.rows.adamw(args, task * block, std::min(args.count, (task + 1) * block));
  });
}

double cpu_squared_norm(CpuContext& context, const float* x, int64_t count) {
  constexpr int64_t block = 1 << 15;
  std::vector<double> parts((count + block - 1) / block);
  context.pool.parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t task, int) {
    parts[task] = context.k.rows.squares(x + task * block, std::min(block, count - task * block));
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace vf
