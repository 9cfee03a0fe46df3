// The part of the CUDA runtime that native/cuda calls, on the CPU: memory with a limit, copies, one device, captured
// streams. Included by cuda_shim.h only, at its end.
#pragma once
using cudaError_t = int;
using cudaStream_t = void*;
enum : int { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum : unsigned { cudaStreamNonBlocking = 1 };
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
  size_t totalGlobalMem;
};
struct cudaFuncAttributes {
  int binaryVersion;
};
namespace vf_shim {
// Bytes that may be allocated at once: VF_SHIM_MEMORY or a test lowers it to see the error.
inline size_t memory_limit =
    std::getenv("VF_SHIM_MEMORY") ? static_cast<size_t>(std::atoll(std::getenv("VF_SHIM_MEMORY"))) : size_t{8} << 30;
inline size_t memory_used = 0, memory_peak = 0;
}  // namespace vf_shim
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "no error";
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  vf_shim::refuse_in_capture("cudaMalloc");
  if (vf_shim::memory_used + bytes > vf_shim::memory_limit) return cudaErrorMemoryAllocation;
  void* block = std::aligned_alloc(256, 256 + (bytes + 255) / 256 * 256);
  if (!block) return cudaErrorMemoryAllocation;
  vf_shim::memory_used += bytes;
  vf_shim::memory_peak = std::max(vf_shim::memory_peak, vf_shim::memory_used);
  std::memcpy(block, &bytes, sizeof bytes);
  *memory = static_cast<char*>(block) + 256;
  if (!vf_shim::dry) std::memset(*memory, 0xff, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  vf_shim::refuse_in_capture("cudaFree");
  if (!memory) return cudaSuccess;
  char* block = static_cast<char*>(memory) - 256;
  size_t bytes;
  std::memcpy(&bytes, block, sizeof bytes);
  vf_shim::memory_used -= bytes;
  std::free(block);
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *total = vf_shim::memory_limit;
  *free_bytes = vf_shim::memory_limit - vf_shim::memory_used;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  if (kind != cudaMemcpyDeviceToDevice) vf_shim::refuse_in_capture("a copy from or to the host");
  vf_shim::do_or_capture([=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  vf_shim::do_or_capture([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  vf_shim::refuse_in_capture("cudaStreamSynchronize");
  return cudaSuccess;
}
using cudaGraph_t = vf_shim::Graph*;
using cudaGraphExec_t = vf_shim::Graph*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  vf_shim::refuse_in_capture("cudaStreamBeginCapture");
  vf_shim::captured = new vf_shim::Graph;
  return cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = vf_shim::captured;
  vf_shim::captured = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* recording, cudaGraph_t graph, unsigned long long) {
  *recording = new vf_shim::Graph(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t recording, cudaStream_t) {
  vf_shim::refuse_in_capture("cudaGraphLaunch");
  for (const auto& node : *recording) node();
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t recording) {
  delete recording;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::snprintf(p->name, sizeof p->name, "CPU shim");
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = 4;
  p->totalGlobalMem = vf_shim::memory_limit;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  attributes->binaryVersion = 90;
  return cudaSuccess;
}
