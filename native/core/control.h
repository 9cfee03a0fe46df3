// What another thread may see and ask of the work in progress.
#pragma once
#include <atomic>
#include <cstdint>

#include "error.h"

namespace vf {

struct Control {
  std::atomic<int64_t> tokens{0}, traces_done{0}, traces_total{0};
  std::atomic<bool> cancelled{false};

  void begin(int64_t total) {
    tokens = 0;
    traces_done = 0;
    traces_total = total;
  }
  // A safe point: throws VF_CANCELLED when cancel was asked for.
  void check() const {
    if (cancelled.load(std::memory_order_relaxed)) throw Error("VF_CANCELLED", "the engine's work was cancelled");
  }
};

}  // namespace vf
