// Own log and exp in double, so that results do not hang on the C library's version: plain additions and
// multiplications, no fma, the same bits wherever they are compiled.
#pragma once
#include <cstdint>
#include <cstring>

namespace vf {

// ln x within 1.3 ulp for x > 0; ln 0 = -inf, a negative x or NaN gives NaN, +inf gives +inf.
// x = 2^k m, sqrt(1/2) <= m < sqrt(2); ln m = 2 atanh(s), s = (m - 1) / (m + 1), as a series in s^2.
static inline double log_double(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
  if (bits >= 0x7ff0000000000000ull) return x;
  int64_t k = 0;
  if (bits < 0x0010000000000000ull) {
    x *= 18014398509481984.0;  // 2^54
    std::memcpy(&bits, &x, 8);
    k = -54;
  }
  k += static_cast<int64_t>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m;
  std::memcpy(&m, &bits, 8);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double p = 2.0 / 23;
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  // 2 s + s z p = f - s (f - z p): f carries the leading digits exactly.
  const double half = f - s * (f - z * p);
  const double n = static_cast<double>(k);
  return n * 6.93147180369123816490e-01 + (half + n * 1.90821492927058770002e-10);
}

// e^x within 1 ulp; over 709.78 gives inf, under -745.13 gives 0, a NaN stays a NaN.
static inline double exp_double(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return __builtin_inf();
  if (x < -745.133219101941) return 0.0;
  const double shifted = x * 1.44269504088896338700e+00 + 6755399441055744.0;  // 1.5 * 2^52 rounds to whole
  const double n = shifted - 6755399441055744.0;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double e = 1.0 + (r + r * r * p);
  const int64_t k = static_cast<int64_t>(n), k1 = k >> 1, k2 = k - k1;
  const uint64_t b1 = static_cast<uint64_t>(k1 + 1023) << 52, b2 = static_cast<uint64_t>(k2 + 1023) << 52;
  double f1, f2;
  std::memcpy(&f1, &b1, 8);
  std::memcpy(&f2, &b2, 8);
  return e * f1 * f2;
}

}  // namespace vf
