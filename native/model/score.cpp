// Scoring given ids (score.h).
#include "score.h"

#include <algorithm>
#include <string>

#include "../core/error.h"

namespace vf {

std::vector<TreeRange> split_trees(const Forest& forest, const std::vector<int32_t>& trees, int32_t first, int32_t last,
                                   int64_t tokens) {
  std::vector<int64_t> size(static_cast<size_t>(last - first), 0);
  for (int32_t s = 0; s < forest.segments; s++)
    if (trees[s] >= first && trees[s] < last) size[trees[s] - first] += forest.offsets[s + 1] - forest.offsets[s];
  std::vector<TreeRange> ranges;
  int64_t filled = 0;
  for (int32_t t = first; t < last; t++) {
    if (ranges.empty() || filled + size[t - first] > tokens) {
      ranges.push_back(TreeRange{t, t});
      filled = 0;
    }
    ranges.back().last = t + 1;
    filled += size[t - first];
  }
  return ranges;
}

std::vector<int32_t> span_firsts(const Forest& forest, const std::vector<Span>& spans) {
  std::vector<int32_t> firsts{0};
  for (const Span& span : spans) {
    require(span.segment >= 0 && span.segment < forest.segments, "VF_INVALID_VALUE",
            "Expected a segment below " + std::to_string(forest.segments) + " in a span but received " +
                std::to_string(span.segment));
    const int32_t length = forest.offsets[span.segment + 1] - forest.offsets[span.segment];
    const int32_t least = forest.parents[span.segment] < 0 ? 1 : 0;
    require(span.start >= least && span.start <= span.end && span.end <= length, "VF_INVALID_VALUE",
            "Expected a span within [" + std::to_string(least) + ", " + std::to_string(length) + ") of segment " +
                std::to_string(span.segment) + " but received [" + std::to_string(span.start) + ", " +
                std::to_string(span.end) + ")");
    firsts.push_back(firsts.back() + span.end - span.start);
  }
  return firsts;
}

ScoreOutput score(Network& network, const ScoreRequest& request, const Control& control) {
  Weights& weights = network.weights();
  Ops& ops = weights.ops();
  const Spec& spec = weights.spec();
  check_forest(request.forest, spec.vocab, spec.max_positions);
  const std::vector<int32_t> firsts = span_firsts(request.forest, request.spans);
  const std::vector<int32_t> trees = tree_of_segments(request.forest);
  const int32_t tree_count = trees.empty() ? 0 : *std::max_element(trees.begin(), trees.end()) + 1;
  ScoreOutput out;
  out.logprobs.resize(static_cast<size_t>(firsts.back()));
  if (request.entropy) out.entropy.resize(out.logprobs.size());
  DevicePlan device(ops);
  Buffer memory(ops), index(ops), targets(ops), logprob(ops), entropy(ops);
  for (const TreeRange& range : split_trees(request.forest, trees, 0, tree_count, request.micro_batch_tokens)) {
    const TreePlan plan = pack_trees(request.forest, trees, range.first, range.last, request.spans, firsts);
    device.upload(plan.rows);
    const float* hidden = network.forward(device, network.make_stores(memory, plan.rows.blocks), control);
    out.tokens_computed += plan.rows.rows();
    const int64_t count = static_cast<int64_t>(plan.spans.size());
    if (count == 0) continue;
    std::vector<int32_t> rows, ids;
    for (const SpanRow& s : plan.spans) {
      rows.push_back(s.row);
      ids.push_back(s.target);
    }
    const float* normed = network.final_norm(hidden, index.upload(rows), count, false);
    float* device_entropy = request.entropy ? entropy.floats(count) : nullptr;
    ops.logprob({count, spec.hidden, request.usable_vocab, normed, weights.weights().head, targets.upload(ids),
                 1 / request.temperature, logprob.floats(count), device_entropy});
    std::vector<float> values(static_cast<size_t>(count));
    const auto fetch = [&](const float* from, std::vector<float>& to) {
      ops.download(values.data(), from, values.size() * sizeof(float));
      for (size_t i = 0; i < values.size(); i++) to[plan.spans[i].index] = values[i];
    };
    fetch(logprob.floats(0), out.logprobs);
    if (request.entropy) fetch(device_entropy, out.entropy);
  }
  return out;
}

}  // namespace vf
