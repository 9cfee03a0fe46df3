// Recorded work: a decode pass launches the same kernels on the same buffers again and again, so that after two plain
// passes it is captured into a CUDA graph and later launched as one.
#pragma once
#include <array>
#include <functional>
#include <map>

#include "cuda_ops.h"

namespace vf {

// All that the launches depend on beside the buffers' addresses: rows, and the padded sizes of the attention plan.
using GraphKey = std::array<int64_t, 4>;

// Makes the plan of a pass's attention, which the recorded ops then find, and says which recording fits.
GraphKey plan_decode_pass(CudaContext&, const DecodePass&);

class RecordedWork {
 public:
  // Off: `run` only does the work.
  explicit RecordedWork(bool on) : on_(on) {}
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;
  ~RecordedWork() { clear(); }

  bool on() const { return on_; }
  // Does `work`, or launches its recording. `changes` counts what a recording can't survive: an address that may have
  // moved. The first time a key comes nothing is recorded, since buffers still grow and weights are still rounded.
  void run(cudaStream_t stream, uint64_t changes, const GraphKey& key, const std::function<void()>& work);
  void clear() noexcept;
  // Recordings launched so far.
  int64_t launches() const { return launches_; }

 private:
  bool on_;
  uint64_t changes_ = 0;
  int64_t launches_ = 0;
  std::map<GraphKey, cudaGraphExec_t> recordings_;  // null: seen once
};

}  // namespace vf
