// Recorded work (graphs.h).
#include "graphs.h"

namespace vf {

namespace {

cudaGraphExec_t record(cudaStream_t stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "the start of a recording");
  try {
    work();
  } catch (...) {
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  cuda_check(cudaStreamEndCapture(stream, &graph), "a recording");
  cudaGraphExec_t recording = nullptr;
  const cudaError_t error = cudaGraphInstantiateWithFlags(&recording, graph, 0);
  cudaGraphDestroy(graph);
  cuda_check(error, "a recording");
  return recording;
}

}  // namespace

void RecordedWork::run(cudaStream_t stream, uint64_t changes, const GraphKey& key, const std::function<void()>& work) {
  if (!on_) return work();
  if (changes != changes_) clear();
  changes_ = changes;
  const auto [at, first] = recordings_.try_emplace(key, nullptr);
  if (first) return work();
  if (!at->second) at->second = record(stream, work);
  cuda_check(cudaGraphLaunch(at->second, stream), "a recorded pass");
  launches_++;
}

void RecordedWork::clear() noexcept {
  for (const auto& [key, recording] : recordings_)
    if (recording) cudaGraphExecDestroy(recording);
  recordings_.clear();
}

}  // namespace vf
