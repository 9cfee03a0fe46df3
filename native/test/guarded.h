// What the op tests share: buffers with guard words around them, seeded numbers, and the comparison measures.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../cpu/backend.h"

namespace vf_test {

// A 64-byte aligned array of 4-byte elements with 16 guard words before and after it.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count)
      : count_(count), memory_(static_cast<T*>(::operator new((count + 32) * sizeof(T), std::align_val_t(64)))) {
    static_assert(sizeof(T) == 4, "guard words are 4 bytes");
    for (size_t i = 0; i < count + 32; i++) std::memcpy(memory_ + i, &guard_word, 4);
  }
  Guarded(const Guarded& other) : Guarded(other.count_) { std::memcpy(data(), other.data(), count_ * 4); }
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { ::operator delete(memory_, std::align_val_t(64)); }

  T* data() { return memory_ + 16; }
  const T* data() const { return memory_ + 16; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return memory_[16 + i]; }
  const T& operator[](size_t i) const { return memory_[16 + i]; }
  void fill(T value) {
    for (size_t i = 0; i < count_; i++) data()[i] = value;
  }
  bool intact() const {
    for (size_t i = 0; i < 16; i++) {
      if (std::memcmp(memory_ + i, &guard_word, 4) != 0) return false;
      if (std::memcmp(memory_ + 16 + count_ + i, &guard_word, 4) != 0) return false;
    }
    return true;
  }
  bool same_bits(const Guarded& other) const {
    return count_ == other.count_ && std::memcmp(data(), other.data(), count_ * 4) == 0;
  }

 private:
  static constexpr uint32_t guard_word = 0x7fc0dead;  // a NaN as a float
  size_t count_;
  T* memory_;
};

using Floats = Guarded<float>;
using Ints = Guarded<int32_t>;

// splitmix64: the same numbers on every machine
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  // roughly normal, |x| < 6
  float normal() {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += unit();
    return static_cast<float>(sum - 6);
  }
  void fill(Floats& x, float scale = 1) {
    for (size_t i = 0; i < x.size(); i++) x[i] = scale * normal();
  }

 private:
  uint64_t state_;
};

// sum (a - b)^2 / sum b^2
inline double nmse(const float* a, const double* b, size_t count) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < count; i++) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm == 0 ? error : error / norm;
}
inline double nmse(const Floats& a, const std::vector<double>& b) {
  return a.size() == b.size() ? nmse(a.data(), b.data(), b.size()) : INFINITY;
}

// Fails the whole test program with the name of what is wrong.
inline void check(bool ok, const std::string& what) {
  if (ok) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}
inline void check_close(double error, double limit, const std::string& what) {
  if (error <= limit) return;
  std::printf("FAILED: %s: %.3g is above %.3g\n", what.c_str(), error, limit);
  std::exit(1);
}
inline void passed(const char* name) {
  std::printf("%s: ok\n", name);
  std::fflush(stdout);
}

// Backends to hold against each other: [0] is the best instruction set with one thread.
struct Backend {
  std::string name;
  bool fused;  // has a fused multiply-add, so its bits must equal those of [0]
  std::unique_ptr<vf::Ops> ops;
};

inline std::vector<Backend> make_backends() {
  std::vector<Backend> list;
  const std::string best = vf::cpu_isa();
  const auto add = [&](const std::string& isa, int threads) {
    vf::CpuOptions options;
    options.isa = isa;
    options.threads = threads;
    list.push_back({isa + " x" + std::to_string(threads), isa != "base", vf::make_cpu_backend(options)});
  };
  add(best, 1);
  add(best, 2);
  if (best == "avx512") add("avx2", 1);
  if (best != "base") add("base", 2);
  return list;
}

}  // namespace vf_test
