// Packed copies of weights, made at first use and again after the weights have changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

namespace vf {

struct CpuContext;

class WeightCache {
 public:
  WeightCache() = default;
  ~WeightCache();
  WeightCache(const WeightCache&) = delete;
  WeightCache& operator=(const WeightCache&) = delete;

  // The packed copy of w [out, in], in bf16 when the context says so; packed in parallel when there is none or it is
  // stale. Valid until the next call with this w or of forget().
  const void* packed(CpuContext& context, const float* w, int64_t out, int64_t in);
  // Every copy is stale from now on; its memory is kept for the next one.
  void weights_changed() { generation_++; }
  // Drops the copies of weights that begin in [memory, memory + bytes).
  void forget(const void* memory, size_t bytes) noexcept;

 private:
  struct Entry {
    void* data = nullptr;
    int64_t out = 0, in = 0;
    uint64_t generation = 0;
  };
  std::map<uintptr_t, Entry> entries_;
  uint64_t generation_ = 1;
};

}  // namespace vf
