// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): equal on host and device, and a pure
// function of (seed, purpose, step, occurrence, sample, position), so no draw depends on another.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
#define VF_HOST_DEVICE __host__ __device__
#else
#define VF_HOST_DEVICE
#endif

namespace vf {

// What a stream is for; the numbers stand in checkpoints and must not change.
enum class Purpose : uint32_t { policy = 0, verifier = 1, evaluation = 2, order = 3, init = 4 };

// One trajectory's stream. occurrence counts questions as drawn in the run (a question drawn twice has two).
struct StreamKey {
  uint64_t seed = 0;
  uint32_t purpose = 0;  // < 16
  uint32_t step = 0;     // < 2^28
  uint32_t occurrence = 0;
  uint32_t sample = 0;
};

struct Philox4 {
  uint32_t v[4];
};

VF_HOST_DEVICE inline Philox4 philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Philox4{{c0, c1, c2, c3}};
}

// 53 random bits in the open interval (0, 1): never 0, never 1.
VF_HOST_DEVICE inline double to_unit(uint32_t high, uint32_t low) {
  const uint64_t bits = ((static_cast<uint64_t>(high) << 32) | low) >> 12;  // 52 bits
  return (static_cast<double>(bits) + 0.5) * (1.0 / 4503599627370496.0);
}

// The uniform number for the token at `position` of the trajectory `key`.
VF_HOST_DEVICE inline double uniform_at(const StreamKey& key, uint32_t position) {
  const Philox4 r =
      philox(key.seed, position, key.sample, key.occurrence, (key.purpose << 28) | (key.step & 0x0fffffffu));
  return to_unit(r.v[0], r.v[1]);
}

}  // namespace vf
