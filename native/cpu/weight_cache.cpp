// Packed copies of weights.
#include "weight_cache.h"

#include "cpu_ops.h"

namespace vf {

WeightCache::~WeightCache() {
  for (auto& item : entries_) release_aligned(item.second.data);
}

const void* WeightCache::packed(CpuContext& context, const float* w, int64_t out, int64_t in) {
  const GemmKernels& k = context.k.gemm;
  Entry& entry = entries_[reinterpret_cast<uintptr_t>(w)];
  if (entry.generation == generation_ && entry.out == out && entry.in == in) return entry.data;
  const int64_t panels = (out + k.nr - 1) / k.nr;
  if (entry.out != out || entry.in != in) {
    release_aligned(entry.data);
    entry = Entry();
    const int64_t elements = panels * k.nr * (context.bf16 ? (in + 1) / 2 * 2 : in);
    entry.data = allocate_aligned(elements * (context.bf16 ? sizeof(uint16_t) : sizeof(float)));
    entry.out = out;
    entry.in = in;
  }
  const int64_t step = (panels + 4 * context.pool.threads() - 1) / (4 * context.pool.threads());
  context.pool.parallel_for((panels + step - 1) / step, [&](int64_t task, int) {
    const int64_t begin = task * step, end = begin + step < panels ? begin + step : panels;
    (context.bf16 ? k.prepack_bf16 : k.prepack)(w, out, in, entry.data, begin, end);
  });
  entry.generation = generation_;
  return entry.data;
}

void WeightCache::forget(const void* memory, size_t bytes) noexcept {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
  auto first = entries_.lower_bound(begin), last = entries_.lower_bound(begin + bytes);
  for (auto i = first; i != last; ++i) release_aligned(i->second.data);
  entries_.erase(first, last);
}

}  // namespace vf
