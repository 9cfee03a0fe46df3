// Sampling with continuous batching: groups share their prompt's keys and values, slots refill at once, and the
// reference answers are teacher-forced on the cache that a trace already has. No result depends on the batch.
#pragma once
#include <string>
#include <vector>

#include "../core/rng.h"
#include "network.h"
#include "stop.h"

namespace vf {

// Ragged ids: list i is ids[offsets[i], offsets[i + 1]). The caller's memory.
struct RaggedView {
  const int32_t* ids = nullptr;
  const int32_t* offsets = nullptr;
  int32_t count = 0;
  int32_t length(int32_t i) const { return offsets[i + 1] - offsets[i]; }
  const int32_t* list(int32_t i) const { return ids + offsets[i]; }
};

struct SampleRequest {
  RaggedView prompts;
  const int32_t* samples = nullptr;       // [prompts]
  const int32_t* first_sample = nullptr;  // [prompts]
  const int32_t* occurrences = nullptr;   // [prompts]
  uint64_t seed = 0;
  uint32_t purpose = 0, step = 0;
  int32_t max_tokens = 0;
  float temperature = 1, top_p = 1;
  int32_t top_k = 0;
  std::vector<int32_t> eos_ids, force_border;
  StopRule stop;
  RaggedView continuations;
  const int32_t* continuation_offsets = nullptr;  // [prompts + 1]
  int32_t max_batch = 0;
  int32_t usable_vocab = 0;
  const std::vector<std::string>* token_bytes = nullptr;
};

struct SampleOutput {
  std::vector<int32_t> ids, offsets{0}, stop_index;
  std::vector<float> logprobs;
  std::vector<uint8_t> finish;
  std::vector<float> continuation_logprobs;
  std::vector<int32_t> continuation_offsets{0};
  int64_t prefill_tokens = 0, decode_tokens = 0, continuation_tokens = 0;
  double prefill_seconds = 0, decode_seconds = 0, continuation_seconds = 0;
};

SampleOutput generate(Network& network, const SampleRequest& request, Control& control);

}  // namespace vf
