// Device memory, scratch, host copies of tables, and the copies between host and device.
#include <cstring>
#include <string>

#include "cuda_ops.h"

namespace vf {

namespace {

constexpr size_t small_block = size_t{1} << 20;  // kept when released
constexpr size_t largest_table = (size_t{4} << 20) - 1;
constexpr size_t most_tables = 64;

size_t rounded(size_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace

void cuda_check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw Error("VF_ENGINE",
              std::string("Expected ") + what + " to succeed on the GPU but received: " + cudaGetErrorString(error));
}

void cuda_check_launch(const char* op) { cuda_check(cudaGetLastError(), op); }

DeviceMemory::~DeviceMemory() {
  drop_kept();
  for (const auto& [memory, bytes] : sizes_) cudaFree(memory);
}

void DeviceMemory::drop_kept() noexcept {
  for (const auto& [bytes, memory] : kept_) {
    sizes_.erase(memory);
    cudaFree(memory);
  }
  kept_.clear();
}

void* DeviceMemory::allocate(size_t bytes) {
  changes_++;
  const size_t size = rounded(bytes > 0 ? bytes : 1);
  const auto found = kept_.lower_bound(size);
  if (found != kept_.end() && found->first <= 2 * size) {
    void* memory = found->second;
    kept_.erase(found);
    return memory;
  }
  void* memory = nullptr;
  cudaError_t error = cudaMalloc(&memory, size);
  if (error != cudaSuccess) {
    cudaGetLastError();
    drop_kept();
    error = cudaMalloc(&memory, size);
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    throw Error("VF_OUT_OF_MEMORY", "Expected " + std::to_string(bytes) + " bytes of GPU memory but " +
                                        std::to_string(free_bytes) + " of " + std::to_string(total) + " are free");
  }
  sizes_[memory] = size;
  return memory;
}

size_t DeviceMemory::release(void* memory) noexcept {
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return 0;
  changes_++;
  const size_t size = found->second;
  if (size <= small_block) {
    kept_.emplace(size, memory);
  } else {
    sizes_.erase(found);
    cudaFree(memory);
  }
  return size;
}

CudaScratchSet::~CudaScratchSet() {
  for (Piece& p : pieces_) memory_.release(p.memory);
}

void* CudaScratchSet::bytes(CudaScratch slot, size_t size) {
  Piece& p = pieces_[static_cast<int>(slot)];
  if (p.bytes < size) {
    memory_.release(p.memory);
    p = Piece();
    p.memory = memory_.allocate(size);
    p.bytes = size;
  }
  return p.memory;
}

void HostTables::remember(const void* device, const void* host, size_t bytes) {
  version_++;
  if (bytes == 0) return;
  forget(device, bytes);
  if (bytes > largest_table) return;
  const char* from = static_cast<const char*>(host);
  tables_.push_front(Table{static_cast<const char*>(device), std::vector<char>(from, from + bytes)});
  if (tables_.size() > most_tables) tables_.pop_back();
}

void HostTables::forget(const void* device, size_t bytes) {
  const char* begin = static_cast<const char*>(device);
  tables_.remove_if([&](const Table& t) { return t.device < begin + bytes && begin < t.device + t.bytes.size(); });
  version_++;
}

const void* HostTables::find(const void* device, size_t bytes) const {
  for (const Table& t : tables_)
    if (t.device == device && t.bytes.size() >= bytes) return t.bytes.data();
  return nullptr;
}

void CudaContext::upload(void* device, const void* host, size_t bytes) {
  if (bytes > 0) cuda_check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "a copy to the GPU");
}

void CudaContext::download(void* host, const void* device, size_t bytes) {
  if (bytes > 0)
    cuda_check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "a copy from the GPU");
  cuda_check(cudaStreamSynchronize(stream), "the work queued so far");
}

}  // namespace vf
