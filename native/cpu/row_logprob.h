// One row's log-sum-exp and log-prob: the sampler and the training pass both come here, so their bits are equal.
#pragma once
#include <vector>

#include "kernels.h"
#include "scalar_math.h"

namespace vf {

// logsumexp of logits * scale, chunks of vocab_chunk combined in order in double; the chunks themselves go to
// `chunks` unless it is null. A NaN or +inf among the logits gives a NaN.
inline double row_lse(const RowKernels& k, const float* logits, int64_t vocab, float scale,
                      std::vector<ChunkSum>* chunks = nullptr) {
  double largest = -__builtin_inf(), sum = 0;
  if (chunks) chunks->clear();
  for (int64_t begin = 0; begin < vocab; begin += vocab_chunk) {
    const ChunkSum c = k.chunk_sum(logits + begin, vocab - begin < vocab_chunk ? vocab - begin : vocab_chunk, scale);
    if (chunks) chunks->push_back(c);
    if (c.sum == 0) continue;
    if (c.largest > largest) {
      sum = sum * exp_double(largest - c.largest) + c.sum;
      largest = c.largest;
    } else {
      sum += c.sum * exp_double(c.largest - largest);
    }
  }
  return largest + log_double(sum);
}

// Never above 0; a NaN stays a NaN.
inline float row_logprob(float logit, float scale, double lse) {
  const float value = static_cast<float>(static_cast<double>(logit * scale) - lse);
  return value > 0 ? 0.0f : value;
}

}  // namespace vf
