// Numbers of the KV blocks that are free, and the rule for how many sequences may be alive at once.
#pragma once
#include <cstdint>
#include <vector>

#include "../core/error.h"
#include "../core/packed.h"

namespace vf {

class BlockPool {
 public:
  explicit BlockPool(int32_t capacity) {
    for (int32_t b = capacity - 1; b >= 0; b--) free_.push_back(b);
  }
  int32_t free_count() const { return static_cast<int32_t>(free_.size()); }
  int32_t next() const { return free_.empty() ? -1 : free_.back(); }
  void take() {
    require(!free_.empty(), "VF_OUT_OF_MEMORY", "Expected a free KV block but the pool is empty");
    free_.pop_back();
  }
  // Frees the blocks that `list` owns: those from `own_from` on.
  void give_back(const BlockList& list, size_t own_from) {
    for (size_t i = own_from; i < list.blocks.size(); i++) free_.push_back(list.blocks[i]);
  }

 private:
  std::vector<int32_t> free_;
};

inline int32_t blocks_for(int32_t keys) { return (keys + kv_block - 1) / kv_block; }

}  // namespace vf
