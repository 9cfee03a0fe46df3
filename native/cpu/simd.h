// Sixteen f32 lanes under one name, F16, for every instruction set. A unit defines VF_ISA (avx512, avx2 or base),
// is compiled with that set's flags and includes this file; everything lands in vf::VF_ISA with internal linkage.
// AVX2 and AVX-512 give the same bits: the same lanes, explicit fma, fixed trees, own exp. The base set has no fma on
// x86-64 (it multiplies, then adds) and so differs in bits.
#pragma once
#include <cstdint>
#include <cstring>

#ifndef VF_ISA
#error "define VF_ISA as avx512, avx2 or base before including simd.h"
#endif
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

// GCC 12's own AVX-512 intrinsics start from a variable set to itself and warn of it wherever they are inlined.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define VF_INLINE static inline __attribute__((always_inline))

namespace vf {
namespace VF_ISA {

constexpr int lanes = 16;

#if defined(__AVX512F__)

struct F16 {
  __m512 v;
};
struct Mask16 {
  __mmask16 m;
};

VF_INLINE F16 zero() { return {_mm512_setzero_ps()}; }
VF_INLINE F16 set1(float x) { return {_mm512_set1_ps(x)}; }
VF_INLINE F16 load(const float* p) { return {_mm512_load_ps(p)}; }
VF_INLINE F16 loadu(const float* p) { return {_mm512_loadu_ps(p)}; }
VF_INLINE void store(float* p, F16 a) { _mm512_store_ps(p, a.v); }
VF_INLINE void storeu(float* p, F16 a) { _mm512_storeu_ps(p, a.v); }
VF_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
VF_INLINE F16 loadu_n(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
VF_INLINE F16 loadu_n(const float* p, int n, float fill) {
  return {_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(n), p)};
}
VF_INLINE void storeu_n(float* p, F16 a, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }

VF_INLINE F16 add(F16 a, F16 b) { return {_mm512_add_ps(a.v, b.v)}; }
VF_INLINE F16 sub(F16 a, F16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
VF_INLINE F16 mul(F16 a, F16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
VF_INLINE F16 div(F16 a, F16 b) { return {_mm512_div_ps(a.v, b.v)}; }
VF_INLINE F16 sqrt(F16 a) { return {_mm512_sqrt_ps(a.v)}; }
VF_INLINE F16 fma(F16 a, F16 b, F16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
VF_INLINE F16 fnma(F16 a, F16 b, F16 c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
VF_INLINE F16 max(F16 a, F16 b) { return {_mm512_max_ps(a.v, b.v)}; }
VF_INLINE F16 min(F16 a, F16 b) { return {_mm512_min_ps(a.v, b.v)}; }
VF_INLINE F16 round(F16 a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
VF_INLINE Mask16 lt(F16 a, F16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
VF_INLINE Mask16 le(F16 a, F16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
VF_INLINE Mask16 eq(F16 a, F16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
VF_INLINE bool any(Mask16 m) { return m.m != 0; }
VF_INLINE F16 select(Mask16 m, F16 a, F16 b) { return {_mm512_mask_blend_ps(m.m, b.v, a.v)}; }
VF_INLINE F16 scale2(F16 a, F16 n) { return {_mm512_scalef_ps(a.v, n.v)}; }

#elif defined(__AVX2__)

struct F16 {
  __m256 lo, hi;
};
struct Mask16 {
  __m256 lo, hi;
};

VF_INLINE F16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
VF_INLINE F16 set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
VF_INLINE F16 load(const float* p) { return {_mm256_load_ps(p), _mm256_load_ps(p + 8)}; }
VF_INLINE F16 loadu(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
VF_INLINE void store(float* p, F16 a) {
  _mm256_store_ps(p, a.lo);
  _mm256_store_ps(p + 8, a.hi);
}
VF_INLINE void storeu(float* p, F16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
VF_INLINE __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
VF_INLINE F16 loadu_n(const float* p, int n) {
  return {_mm256_maskload_ps(p, first_lanes(n)), _mm256_maskload_ps(p + 8, first_lanes(n - 8))};
}
VF_INLINE F16 loadu_n(const float* p, int n, float fill) {
  const F16 a = loadu_n(p, n);
  const __m256 f = _mm256_set1_ps(fill);
  return {_mm256_blendv_ps(f, a.lo, _mm256_castsi256_ps(first_lanes(n))),
          _mm256_blendv_ps(f, a.hi, _mm256_castsi256_ps(first_lanes(n - 8)))};
}
VF_INLINE void storeu_n(float* p, F16 a, int n) {
  _mm256_maskstore_ps(p, first_lanes(n), a.lo);
  _mm256_maskstore_ps(p + 8, first_lanes(n - 8), a.hi);
}

VF_INLINE F16 add(F16 a, F16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
VF_INLINE F16 sub(F16 a, F16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
VF_INLINE F16 mul(F16 a, F16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
VF_INLINE F16 div(F16 a, F16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
VF_INLINE F16 sqrt(F16 a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
VF_INLINE F16 fma(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
VF_INLINE F16 fnma(F16 a, F16 b, F16 c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
VF_INLINE F16 max(F16 a, F16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
VF_INLINE F16 min(F16 a, F16 b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
VF_INLINE F16 round(F16 a) {
  return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
VF_INLINE Mask16 lt(F16 a, F16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
VF_INLINE Mask16 le(F16 a, F16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
}
VF_INLINE Mask16 eq(F16 a, F16 b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
VF_INLINE bool any(Mask16 m) { return (_mm256_movemask_ps(m.lo) | _mm256_movemask_ps(m.hi)) != 0; }
VF_INLINE F16 select(Mask16 m, F16 a, F16 b) {
  return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)};
}
// Two factors, so that a result below the normal range is rounded once, as AVX-512's scalef rounds it.
VF_INLINE __m256 scale2_half(__m256 a, __m256 n) {
  const __m256i k = _mm256_cvtps_epi32(n);
  const __m256i k1 = _mm256_srai_epi32(k, 1), k2 = _mm256_sub_epi32(k, k1), bias = _mm256_set1_epi32(127);
  const __m256 f1 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k1, bias), 23));
  const __m256 f2 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(k2, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(a, f1), f2);
}
VF_INLINE F16 scale2(F16 a, F16 n) { return {scale2_half(a.lo, n.lo), scale2_half(a.hi, n.hi)}; }

#else

typedef float Quad __attribute__((vector_size(16)));
typedef int32_t QuadInt __attribute__((vector_size(16)));

struct F16 {
  Quad q[4];
};
struct Mask16 {
  QuadInt q[4];
};

#define VF_EACH_QUAD(T, expression)                  \
  T r;                                               \
  for (int i = 0; i < 4; i++) r.q[i] = (expression); \
  return r

VF_INLINE F16 set1(float x) { VF_EACH_QUAD(F16, (Quad{x, x, x, x})); }
VF_INLINE F16 zero() { return set1(0.0f); }
VF_INLINE F16 loadu(const float* p) {
  F16 r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
VF_INLINE F16 load(const float* p) { return loadu(p); }
VF_INLINE void storeu(float* p, F16 a) { std::memcpy(p, &a, sizeof a); }
VF_INLINE void store(float* p, F16 a) { storeu(p, a); }
VF_INLINE F16 loadu_n(const float* p, int n, float fill) {
  float t[lanes];
  for (int i = 0; i < lanes; i++) t[i] = i < n ? p[i] : fill;
  return loadu(t);
}
VF_INLINE F16 loadu_n(const float* p, int n) { return loadu_n(p, n, 0.0f); }
VF_INLINE void storeu_n(float* p, F16 a, int n) {
  float t[lanes];
  storeu(t, a);
  for (int i = 0; i < n && i < lanes; i++) p[i] = t[i];
}

VF_INLINE F16 add(F16 a, F16 b) { VF_EACH_QUAD(F16, a.q[i] + b.q[i]); }
VF_INLINE F16 sub(F16 a, F16 b) { VF_EACH_QUAD(F16, a.q[i] - b.q[i]); }
VF_INLINE F16 mul(F16 a, F16 b) { VF_EACH_QUAD(F16, a.q[i] * b.q[i]); }
VF_INLINE F16 div(F16 a, F16 b) { VF_EACH_QUAD(F16, a.q[i] / b.q[i]); }
VF_INLINE F16 sqrt(F16 a) {
  float t[lanes];
  storeu(t, a);
  for (int i = 0; i < lanes; i++) t[i] = __builtin_sqrtf(t[i]);
  return loadu(t);
}
#if defined(__aarch64__)
VF_INLINE F16 fma(F16 a, F16 b, F16 c) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c.q[i][j] = __builtin_fmaf(a.q[i][j], b.q[i][j], c.q[i][j]);
  return c;
}
#else
VF_INLINE F16 fma(F16 a, F16 b, F16 c) { return add(mul(a, b), c); }
#endif
VF_INLINE F16 fnma(F16 a, F16 b, F16 c) { return fma(mul(a, set1(-1.0f)), b, c); }
VF_INLINE Mask16 lt(F16 a, F16 b) { VF_EACH_QUAD(Mask16, a.q[i] < b.q[i]); }
VF_INLINE Mask16 le(F16 a, F16 b) { VF_EACH_QUAD(Mask16, a.q[i] <= b.q[i]); }
VF_INLINE Mask16 eq(F16 a, F16 b) { VF_EACH_QUAD(Mask16, a.q[i] == b.q[i]); }
VF_INLINE bool any(Mask16 m) {
  const QuadInt t = m.q[0] | m.q[1] | m.q[2] | m.q[3];
  return (t[0] | t[1] | t[2] | t[3]) != 0;
}
VF_INLINE F16 select(Mask16 m, F16 a, F16 b) {
  VF_EACH_QUAD(F16, (Quad)(((QuadInt)a.q[i] & m.q[i]) | ((QuadInt)b.q[i] & ~m.q[i])));
}
VF_INLINE F16 max(F16 a, F16 b) { return select(lt(b, a), a, b); }
VF_INLINE F16 min(F16 a, F16 b) { return select(lt(a, b), a, b); }
// For |a| < 2^22: adding 1.5 * 2^23 rounds to the nearest whole number.
VF_INLINE F16 round(F16 a) { return sub(add(a, set1(12582912.0f)), set1(12582912.0f)); }
VF_INLINE F16 scale2(F16 a, F16 n) {
  for (int i = 0; i < 4; i++) {
    const QuadInt k = __builtin_convertvector(n.q[i], QuadInt);
    const QuadInt k1 = k >> 1, k2 = k - k1;
    a.q[i] = a.q[i] * (Quad)((k1 + 127) << 23) * (Quad)((k2 + 127) << 23);
  }
  return a;
}
#undef VF_EACH_QUAD

#endif

// max and min return their second operand when either is a NaN, on every set.

VF_INLINE F16 neg(F16 a) { return mul(a, set1(-1.0f)); }

// Halves the lanes by a fixed tree: lane i with i + 8, then i + 4, i + 2, i + 1.
#if defined(__AVX2__)
#if defined(__AVX512F__)
VF_INLINE __m256 low_half(F16 a) { return _mm512_castps512_ps256(a.v); }
VF_INLINE __m256 high_half(F16 a) { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.v), 1)); }
#else
VF_INLINE __m256 low_half(F16 a) { return a.lo; }
VF_INLINE __m256 high_half(F16 a) { return a.hi; }
#endif
VF_INLINE float sum(F16 a) {
  const __m256 t8 = _mm256_add_ps(low_half(a), high_half(a));
  const __m128 t4 = _mm_add_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_add_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_add_ss(t2, _mm_shuffle_ps(t2, t2, 1)));
}
// The largest lane; which NaN or number comes out of a vector that holds NaNs is not defined.
VF_INLINE float max_lane(F16 a) {
  const __m256 t8 = _mm256_max_ps(low_half(a), high_half(a));
  const __m128 t4 = _mm_max_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_max_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_max_ss(t2, _mm_shuffle_ps(t2, t2, 1)));
}
#else
VF_INLINE float sum(F16 a) {
  const Quad t = (a.q[0] + a.q[2]) + (a.q[1] + a.q[3]);
  return (t[0] + t[2]) + (t[1] + t[3]);
}
VF_INLINE float max_lane(F16 a) {
  float t[lanes];
  storeu(t, a);
  for (int step = 8; step > 0; step /= 2)
    for (int i = 0; i < step; i++) t[i] = t[i] > t[i + step] ? t[i] : t[i + step];
  return t[0];
}
#endif
VF_INLINE float fma1(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

#if defined(__AVX2__)
// to[c, r] = from[r, c] of an 8 x 8 block; rows of `to` are written in order, each as 8 floats.
VF_INLINE void transpose_8x8(const float* from, int64_t from_step, float* to, int64_t to_step) {
  __m256 r[8], s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(from + i * from_step);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) _mm256_storeu_ps(to + i * to_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) _mm256_storeu_ps(to + (i + 4) * to_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
}
#endif

// e^x within 1.1 ulp: x = n ln 2 + r, a polynomial of degree 6 in r (minimax on |r| <= ln 2 / 2), then 2^n.
// -inf gives 0, values over 88.72 give inf, a NaN stays a NaN.
VF_INLINE F16 exp(F16 x) {
  x = max(set1(-104.0f), x);
  x = min(set1(89.0f), x);
  const F16 n = round(mul(x, set1(1.44269504088896341f)));
  F16 r = fnma(n, set1(0.693359375f), x);
  r = fnma(n, set1(-2.12194440e-4f), r);
  F16 p = set1(1.3933643522e-3f);
  p = fma(p, r, set1(8.3631755655e-3f));
  p = fma(p, r, set1(4.1666464976e-2f));
  p = fma(p, r, set1(1.6666577003e-1f));
  p = fma(p, r, set1(5.0000000135e-1f));
  p = fma(p, mul(r, r), r);
  return scale2(add(p, set1(1.0f)), n);
}

}  // namespace VF_ISA
}  // namespace vf
