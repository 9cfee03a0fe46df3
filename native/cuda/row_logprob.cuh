// A row's log-sum-exp and log-prob: the sampler and the training pass both come here, so equal logits give equal bits.
#pragma once
#include "reduce.cuh"
#include "../ops/ops.h"

namespace vf {

constexpr int row_logprob_threads = 256;
constexpr int most_chunks = 1024;  // of vocab_chunk logits

// A vocabulary chunk's part: the largest scaled logit and the sum of exp(scaled - largest).
struct LogitChunk {
  float largest, sum;
};

// Fills chunks[] (shared memory, a warp a chunk) and returns logsumexp(logits * scale) to every thread; chunks are
// combined in order, in double. A NaN or +inf among the logits gives a NaN.
__device__ inline double device_lse(const float* logits, int64_t vocab, float scale, LogitChunk* chunks,
                                    double* result) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            count = static_cast<int>((vocab + vocab_chunk - 1) / vocab_chunk);
  for (int c = warp; c < count; c += row_logprob_threads / 32) {
    const int64_t begin = static_cast<int64_t>(c) * vocab_chunk,
                  end = begin + vocab_chunk < vocab ? begin + vocab_chunk : vocab;
    float largest = -INFINITY;
    for (int64_t v = begin + lane; v < end; v += 32) {
      const float x = logits[v] * scale;
      largest = x > largest ? x : largest;
    }
    largest = warp_reduce(largest, LargerOf());
    // where every logit is -inf nothing is subtracted: the sum is 0, not a NaN
    const float shift = largest == -INFINITY ? 0.0f : largest;
    float sum = 0;
    for (int64_t v = begin + lane; v < end; v += 32) sum += expf(logits[v] * scale - shift);
    sum = warp_reduce(sum, SumOf());
    if (lane == 0) chunks[c] = {largest, sum};
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double largest = -INFINITY, sum = 0;
    for (int c = 0; c < count; c++) {
      if (chunks[c].sum == 0) continue;
      if (chunks[c].largest > largest) {
        sum = sum * exp(largest - chunks[c].largest) + chunks[c].sum;
        largest = chunks[c].largest;
      } else {
        sum += chunks[c].sum * exp(chunks[c].largest - largest);
      }
    }
    *result = largest + log(sum);
  }
  __syncthreads();
  return *result;
}

// Never above 0; a NaN stays a NaN.
__device__ inline float device_logprob(float logit, float scale, double lse) {
  const float value = static_cast<float>(static_cast<double>(logit * scale) - lse);
  return value > 0 ? 0.0f : value;
}

}  // namespace vf
