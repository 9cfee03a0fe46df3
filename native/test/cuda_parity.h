// What the CUDA parity table shares: arrays in device memory with guard words, the rows of the table, and the plain
// bf16 measure that an op's bf16 error is held against.
#pragma once
#include <algorithm>
#include <functional>

#include "../core/half.h"
#include "../cuda/backend.h"
#include "attention_case.h"

namespace vf_test {

constexpr double f32_limit = 1e-7, bf16_factor = 2.0;

// An array of 4-byte elements in a backend's memory, 64 guard words before and after it.
template <class T>
class OnDevice {
 public:
  OnDevice(vf::Ops& ops, const Guarded<T>& host) : ops_(ops), count_(host.size()) {
    memory_ = static_cast<T*>(ops.allocate((count_ + 2 * guard) * sizeof(T)));
    std::vector<uint32_t> words(guard, word);
    ops.upload(memory_, words.data(), guard * 4);
    ops.upload(memory_ + guard + count_, words.data(), guard * 4);
    if (count_ > 0) ops.upload(data(), host.data(), count_ * 4);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { ops_.release(memory_); }
  T* data() { return memory_ + guard; }
  // The array's contents; fails the program where a guard word has changed.
  Guarded<T> fetch(const std::string& what) {
    std::vector<uint32_t> words(2 * guard);
    ops_.download(words.data(), memory_, guard * 4);
    ops_.download(words.data() + guard, memory_ + guard + count_, guard * 4);
    for (const uint32_t w : words) check(w == word, what + " writes outside its output");
    Guarded<T> host(count_);
    if (count_ > 0) ops_.download(host.data(), data(), count_ * 4);
    return host;
  }

 private:
  static constexpr size_t guard = 64;
  static constexpr uint32_t word = 0x7fc0beef;
  vf::Ops& ops_;
  size_t count_;
  T* memory_;
};
using DeviceFloats = OnDevice<float>;
using DeviceInts = OnDevice<int32_t>;

inline float rounded(float x) { return vf::bf16_to_float(vf::float_to_bf16(x)); }
inline Floats rounded(const Floats& x) {
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); i++) y[i] = rounded(x[i]);
  return y;
}

// The numbers that a backend's KV store keeps of these.
inline Floats stored(const vf::Ops& ops, const Floats& x) { return ops.kv_element_bytes() == 2 ? rounded(x) : x; }

// Keys or values of a KV store, an even number of them, in a backend's memory and element type.
class DeviceStore {
 public:
  DeviceStore(vf::Ops& ops, const Floats& host)
      : half_(ops.kv_element_bytes() == 2), count_(host.size()), words_(ops, packed(host, half_)) {}
  void* data() { return words_.data(); }
  Floats fetch(const std::string& what) {
    const Ints words = words_.fetch(what);
    Floats x(count_);
    if (!half_) std::memcpy(x.data(), words.data(), count_ * 4);
    if (half_) vf::to_floats(reinterpret_cast<const uint16_t*>(words.data()), int64_t(count_), false, x.data());
    return x;
  }

 private:
  static Ints packed(const Floats& host, bool half) {
    Ints words(half ? host.size() / 2 : host.size());
    if (!half) std::memcpy(words.data(), host.data(), host.size() * 4);
    if (half) vf::to_bf16(host.data(), int64_t(host.size()), reinterpret_cast<uint16_t*>(words.data()));
    return words;
  }
  bool half_;
  size_t count_;
  DeviceInts words_;
};

// sum (a - b)^2 / sum b^2
inline double nmse(const Floats& a, const Floats& b) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < a.size(); i++) {
    error += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return norm == 0 ? error : error / norm;
}

// The two backends and what was found: every row of the table is one output of one case.
struct Parity {
  vf::Ops& cpu;
  vf::Ops& cuda;
  bool bf16;
  bool small;  // the short table of the thread sanitizer and compute-sanitizer
  int rows = 0, failed = 0;

  const char* dtype() const { return bf16 ? "bf16" : "f32"; }
  // `plain` is the error of a plain bf16 loop, for ops whose products are bf16; else the f32 limit holds.
  void row(const std::string& op, const std::string& shape, double error, double plain = -1) {
    const double limit = bf16 && plain >= 0 ? std::max(bf16_factor * bf16_factor * plain, f32_limit) : f32_limit;
    const bool ok = error <= limit;
    rows++;
    if (!ok) failed++;
    if (!ok || std::getenv("VF_PARITY_ALL")) {
      std::printf("%-22s %-5s %-34s nmse %9.2e  limit %9.2e  %s\n", op.c_str(), dtype(), shape.c_str(), error, limit,
                  ok ? "ok" : "FAILED");
      std::fflush(stdout);
    }
  }
  void exact(const std::string& op, const std::string& shape, bool ok) { row(op, shape, ok ? 0 : INFINITY); }
};

void parity_layers(Parity&);
void parity_matmul(Parity&);
void parity_attention(Parity&);
void parity_logprob(Parity&);
void parity_policy(Parity&);
void parity_sample(Parity&);

template <class... T>
std::string shape_of(T... parts) {
  std::string text;
  for (const auto part : {static_cast<long long>(parts)...}) text += (text.empty() ? "" : "x") + std::to_string(part);
  return text;
}

}  // namespace vf_test
