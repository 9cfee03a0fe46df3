// Packed ragged batches: a forest of segments becomes rows, blocks of keys and values, views and runs. A prefix that
// several branches share stands once. There is no padding, so none can leak into a loss.
#pragma once
#include <cstdint>
#include <vector>

#include "../ops/ops.h"

namespace vf {

// A list of (block, count) pairs in order of position: what a query of a branch sees (ops.h, KvViews).
struct BlockList {
  std::vector<int32_t> blocks, counts;
  int32_t keys = 0;

  void append(const BlockList& other);
  // One more key: in the last block when that is this list's own and has room, else in `fresh` (taken when used).
  bool last_has_room(size_t own_from) const { return blocks.size() > own_from && counts.back() < kv_block; }
};

// The rows of one forward pass, with everything the ops need to know of their order. Host memory.
struct RowPlan {
  std::vector<int32_t> ids, positions, kv_block_id, kv_slot;
  std::vector<int32_t> view_offsets{0}, view_blocks, view_counts;
  std::vector<AttentionRun> runs;
  std::vector<int32_t> family_offsets{0};
  int32_t blocks = 0;  // blocks this plan numbered itself (training, scoring)

  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
  int32_t views() const { return static_cast<int32_t>(view_offsets.size()) - 1; }
  // Adds a view and returns its index.
  int32_t add_view(const BlockList& list);
  // Adds one row at the next key of `list` (which grows by it) and returns the row.
  int32_t add_row(int32_t id, BlockList& list, size_t own_from, int32_t fresh_block, bool* used_fresh);
  // Adds a run over rows [begin, rows()) that see `view`, the first of them seeing `keys_begin` keys.
  void add_run(int32_t view, int32_t row_begin, int32_t keys_begin);
  void end_family() { family_offsets.push_back(static_cast<int32_t>(runs.size())); }
};

// A forest as it crosses the boundary (src/native/types.ts, PackedTree). Views of the caller's memory.
struct Forest {
  const int32_t* ids = nullptr;
  const int32_t* offsets = nullptr;  // [segments + 1]
  const int32_t* parents = nullptr;  // [segments], -1 for a root
  int32_t segments = 0;
};

// One span token: the row whose output predicts it, its id, and its index among all span tokens of the call.
struct SpanRow {
  int32_t row, target, index;
};

// Tokens [start, end) of a segment.
struct Span {
  int32_t segment, start, end, role;
};

// A part of a forest (whole trees), packed.
struct TreePlan {
  RowPlan rows;
  std::vector<SpanRow> spans;  // ordered by index
};

// Checks a forest: parents before children, no empty segment, ids within [0, vocab), positions below max_positions.
void check_forest(const Forest& forest, int32_t vocab, int32_t max_positions);
// Root index of every segment: trees numbered 0.. in order of their roots.
std::vector<int32_t> tree_of_segments(const Forest& forest);
// Packs the trees [first, last). span_first[s] is the index of span s's first token among all span tokens.
TreePlan pack_trees(const Forest& forest, const std::vector<int32_t>& trees, int32_t first, int32_t last,
                    const std::vector<Span>& spans, const std::vector<int32_t>& span_first);

}  // namespace vf
