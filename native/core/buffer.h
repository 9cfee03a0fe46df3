// Device memory that grows and is kept: after the first pass of a size, no step allocates.
#pragma once
#include <utility>

#include "../ops/ops.h"

namespace vf {

class Buffer {
 public:
  explicit Buffer(Ops& ops) : ops_(&ops) {}
  Buffer(Buffer&& other) noexcept
      : ops_(other.ops_), memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { clear(); }

  // At least `count` elements; what was there before is lost when it grows.
  template <typename T>
  T* get(int64_t count) {
    const size_t bytes = static_cast<size_t>(count > 0 ? count : 1) * sizeof(T);
    if (bytes > bytes_) grow(bytes);
    return static_cast<T*>(memory_);
  }
  float* floats(int64_t count) { return get<float>(count); }

  // A copy of a host table. It grows by doubling: a table that is longer at every step seldom moves.
  template <typename Vector>
  auto upload(const Vector& host) {
    using T = typename Vector::value_type;
    const size_t bytes = host.size() * sizeof(T);
    if (bytes > bytes_) grow(bytes > 2 * bytes_ ? bytes : 2 * bytes_);
    T* device = get<T>(static_cast<int64_t>(host.size()));
    if (!host.empty()) ops_->upload(device, host.data(), bytes);
    return static_cast<const T*>(device);
  }

  void clear() noexcept {
    if (memory_ != nullptr) ops_->release(memory_);
    memory_ = nullptr;
    bytes_ = 0;
  }
  size_t bytes() const { return bytes_; }

 private:
  void grow(size_t bytes) {
    clear();
    memory_ = ops_->allocate(bytes);
    bytes_ = bytes;
  }

  Ops* ops_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace vf
