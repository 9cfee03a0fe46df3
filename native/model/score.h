// Log-probabilities of given ids by the training forward, without gradient.
#pragma once
#include <vector>

#include "network.h"

namespace vf {

struct ScoreRequest {
  Forest forest;
  std::vector<Span> spans;
  float temperature = 1;
  bool entropy = false;
  int64_t micro_batch_tokens = 4096;
  int32_t usable_vocab = 0;
};

struct ScoreOutput {
  std::vector<float> logprobs, entropy;  // one a span token, in the order of spans
  int64_t tokens_computed = 0;
};

// Where whole trees [first, last) form one micro-batch of at most `tokens` rows (at least one tree).
struct TreeRange {
  int32_t first, last;
};
std::vector<TreeRange> split_trees(const Forest& forest, const std::vector<int32_t>& trees, int32_t first, int32_t last,
                                   int64_t tokens);

// Index of each span's first token among all span tokens; the last entry is their number. Checks the spans.
std::vector<int32_t> span_firsts(const Forest& forest, const std::vector<Span>& spans);

ScoreOutput score(Network& network, const ScoreRequest& request, const Control& control);

}  // namespace vf
