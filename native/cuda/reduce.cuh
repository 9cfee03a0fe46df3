// Sums and maxima over a warp or a block by a fixed tree: the same bits every run.
#pragma once
#include "instructions.cuh"

namespace vf {

struct SumOf {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct LargerOf {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

template <class T, class Op>
__device__ __forceinline__ T warp_reduce(T v, Op op) {
  for (int bits = 16; bits > 0; bits >>= 1) v = op(v, __shfl_xor_sync(all_lanes, v, bits));
  return v;
}

// Every thread gets the result; blockDim.x is a multiple of 32. `parts` is shared memory of 32 elements.
template <class T, class Op>
__device__ __forceinline__ T block_reduce(T v, Op op, T nothing, T* parts) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  v = warp_reduce(v, op);
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = warp_reduce(lane < warps ? parts[lane] : nothing, op);
  __syncthreads();
  return v;
}

}  // namespace vf
