// Launches and single instructions: tensor-core products, matrix loads, asynchronous copies, bf16 rounding. The only
// header that asks whether it is compiled for a GPU or for the CPU shim; every wrapper has both sides here.
#pragma once
#if defined(VF_CUDA_SHIM)
#include "../test/cuda_shim.h"
#else
#include <cuda_runtime.h>
#endif

#include <cstdint>

// VF_LAUNCH((kernel<T>), grid, block, shared bytes, stream, arguments…): the parentheses keep the template's commas.
#define VF_UNPAREN(...) __VA_ARGS__
#if defined(VF_CUDA_SHIM)
#define VF_LAUNCH(kernel, grid, block, shared, stream, ...) \
  vf_shim::launch(grid, block, shared, stream, [=] { VF_UNPAREN kernel(__VA_ARGS__); })
#define VF_DYNAMIC_SHARED(name) unsigned char* const name = static_cast<unsigned char*>(vf_shim::dynamic_shared())
#else
#define VF_LAUNCH(kernel, grid, block, shared, stream, ...) \
  (VF_UNPAREN kernel<<<grid, block, shared, stream>>>(__VA_ARGS__))
#define VF_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#endif

namespace vf {

constexpr unsigned all_lanes = 0xffffffffu;
using bf16_t = uint16_t;  // the bits of a bf16

#if defined(VF_CUDA_SHIM)
constexpr bool runs_on_shim = true;

inline uint32_t shim_bf16(float f) {
  const uint32_t bits = __float_as_uint(f);
  return f != f ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
inline float shim_half_of(uint32_t word, int high) { return __uint_as_float(high ? word & 0xffff0000u : word << 16); }
inline void shim_aligned(const void* p, size_t bytes, const char* what) {
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0) vf_shim::die("a misaligned address", what);
}
#else
constexpr bool runs_on_shim = false;
#endif

// Two floats rounded to bf16 (nearest, ties to even): `low` in the lower half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
#if defined(VF_CUDA_SHIM)
  return shim_bf16(low) | shim_bf16(high) << 16;
#else
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#endif
}
__device__ __forceinline__ float from_bf16(bf16_t h) { return __uint_as_float(static_cast<uint32_t>(h) << 16); }
__device__ __forceinline__ bf16_t to_bf16(float f) { return static_cast<bf16_t>(pack_bf16(f, 0.0f)); }

// An element of the KV store (f32 or bf16) as a float, and a float put there.
__device__ __forceinline__ float kv_float(float x) { return x; }
__device__ __forceinline__ float kv_float(bf16_t x) { return from_bf16(x); }
__device__ __forceinline__ void put_kv(float* to, float x) { *to = x; }
__device__ __forceinline__ void put_kv(bf16_t* to, float x) { *to = to_bf16(x); }

// 16 bytes at once; the address must be a multiple of 16.
__device__ __forceinline__ float4 load_float4(const float* p) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(p, 16, "load_float4");
#endif
  return *reinterpret_cast<const float4*>(p);
}
__device__ __forceinline__ void store_float4(float* p, float4 v) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(p, 16, "store_float4");
#endif
  *reinterpret_cast<float4*>(p) = v;
}
__device__ __forceinline__ uint4 load_uint4(const bf16_t* p) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(p, 16, "load_uint4");
#endif
  return *reinterpret_cast<const uint4*>(p);
}
__device__ __forceinline__ void store_uint4(bf16_t* p, uint4 v) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(p, 16, "store_uint4");
  std::memcpy(p, &v, 16);
#else
  *reinterpret_cast<uint4*>(p) = v;
#endif
}
__device__ __forceinline__ void store_word(bf16_t* p, uint32_t word) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(p, 4, "store_word");
  std::memcpy(p, &word, 4);
#else
  *reinterpret_cast<uint32_t*>(p) = word;
#endif
}

// d [16, 8] += a [16, 16] b [16, 8], bf16 products summed in f32. Lane l, g = l / 4, t = l % 4:
//   d: rows g (0, 1) and g + 8 (2, 3), columns 2t and 2t + 1
//   a: word r holds row g + 8 (r % 2), columns 2t + 8 (r / 2) and the next;   b: word r holds rows 2t + 8 r and the
//   next, column g
__device__ __forceinline__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(VF_CUDA_SHIM)
  struct In {
    uint32_t a[4], b[2];
    float d[4];
  };
  struct Out {
    float d[4];
  };
  const Out out = vf_shim::collective<In, Out>(
      {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {d[0], d[1], d[2], d[3]}}, "mma_bf16", [](const In* in, Out* result) {
        float rows[16][16], columns[8][16];
        for (int l = 0; l < 32; l++) {
          for (int r = 0; r < 4; r++)
            for (int h = 0; h < 2; h++)
              rows[l / 4 + 8 * (r % 2)][l % 4 * 2 + 8 * (r / 2) + h] = shim_half_of(in[l].a[r], h);
          for (int r = 0; r < 2; r++)
            for (int h = 0; h < 2; h++) columns[l / 4][l % 4 * 2 + 8 * r + h] = shim_half_of(in[l].b[r], h);
        }
        for (int l = 0; l < 32; l++)
          for (int i = 0; i < 4; i++) {
            const float* row = rows[l / 4 + (i >= 2 ? 8 : 0)];
            const float* column = columns[l % 4 * 2 + (i & 1)];
            float sum = in[l].d[i];
            for (int k = 0; k < 16; k++) sum += row[k] * column[k];
            result[l].d[i] = sum;
          }
      });
  for (int i = 0; i < 4; i++) d[i] = out.d[i];
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

#if defined(VF_CUDA_SHIM)
inline void shim_ldmatrix(uint32_t (&r)[4], const bf16_t* row, bool transposed) {
  shim_aligned(row, 16, "ldmatrix");
  struct In {
    const bf16_t* row;
    bool transposed;
  };
  struct Out {
    uint32_t r[4];
  };
  const Out out = vf_shim::collective<In, Out>({row, transposed}, "ldmatrix", [](const In* in, Out* result) {
    for (int l = 0; l < 32; l++)
      for (int m = 0; m < 4; m++) {
        uint32_t word = 0;
        for (int h = 0; h < 2; h++) {
          const int i = in[l].transposed ? l % 4 * 2 + h : l / 4, j = in[l].transposed ? l / 4 : l % 4 * 2 + h;
          word |= static_cast<uint32_t>(in[m * 8 + i].row[j]) << (16 * h);
        }
        result[l].r[m] = word;
      }
  });
  for (int m = 0; m < 4; m++) r[m] = out.r[m];
}
#endif

// Four 8 x 8 matrices from shared memory: lane 8 m + i gives the address of row i of matrix m; word m of lane l then
// holds row l / 4, columns 2 (l % 4) and the next (transposed: rows 2 (l % 4) and the next, column l / 4).
__device__ __forceinline__ void ldmatrix(uint32_t (&r)[4], const bf16_t* row) {
#if defined(VF_CUDA_SHIM)
  shim_ldmatrix(r, row, false);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}
__device__ __forceinline__ void ldmatrix_transposed(uint32_t (&r)[4], const bf16_t* row) {
#if defined(VF_CUDA_SHIM)
  shim_ldmatrix(r, row, true);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}

// Starts a copy of 16 bytes from global to shared memory, or of zeros where not `valid` (`from` is then not read).
__device__ __forceinline__ void cp_async(bf16_t* to, const bf16_t* from, bool valid) {
#if defined(VF_CUDA_SHIM)
  shim_aligned(to, 16, "cp_async");
  if (valid) shim_aligned(from, 16, "cp_async");
  std::memset(to, 0xff, 16);  // a NaN until the copy is waited for
  vf_shim::current->open_group.push_back({to, from, valid ? 16u : 0u});
#else
  const uint32_t bytes = valid ? 16 : 0;
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes)
      : "memory");
#endif
}
// Closes the group of copies started since the last call.
__device__ __forceinline__ void cp_async_commit() {
#if defined(VF_CUDA_SHIM)
  vf_shim::current->groups.push_back(std::move(vf_shim::current->open_group));
  vf_shim::current->open_group.clear();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most the newest Pending groups of this thread are open.
template <int Pending>
__device__ __forceinline__ void cp_async_wait() {
#if defined(VF_CUDA_SHIM)
  auto& groups = vf_shim::current->groups;
  while (groups.size() > Pending) {
    for (const vf_shim::AsyncCopy& c : groups.front()) {
      std::memset(c.to, 0, 16);
      if (c.bytes > 0) std::memcpy(c.to, c.from, c.bytes);
    }
    groups.erase(groups.begin());
  }
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

}  // namespace vf
