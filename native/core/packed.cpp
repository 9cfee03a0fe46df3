// Packed ragged batches (packed.h).
#include "packed.h"

#include <string>

#include "error.h"

namespace vf {

void BlockList::append(const BlockList& other) {
  blocks.insert(blocks.end(), other.blocks.begin(), other.blocks.end());
  counts.insert(counts.end(), other.counts.begin(), other.counts.end());
  keys += other.keys;
}

int32_t RowPlan::add_view(const BlockList& list) {
  view_blocks.insert(view_blocks.end(), list.blocks.begin(), list.blocks.end());
  view_counts.insert(view_counts.end(), list.counts.begin(), list.counts.end());
  view_offsets.push_back(static_cast<int32_t>(view_blocks.size()));
  return views() - 1;
}

int32_t RowPlan::add_row(int32_t id, BlockList& list, size_t own_from, int32_t fresh_block, bool* used_fresh) {
  *used_fresh = !list.last_has_room(own_from);
  if (*used_fresh) {
    list.blocks.push_back(fresh_block);
    list.counts.push_back(0);
  }
  ids.push_back(id);
  positions.push_back(list.keys);
  kv_block_id.push_back(list.blocks.back());
  kv_slot.push_back(list.counts.back());
  list.counts.back()++;
  list.keys++;
  return static_cast<int32_t>(ids.size()) - 1;
}

void RowPlan::add_run(int32_t view, int32_t row_begin, int32_t keys_begin) {
  runs.push_back(AttentionRun{view, row_begin, static_cast<int32_t>(rows()) - row_begin, keys_begin});
}

void check_forest(const Forest& forest, int32_t vocab, int32_t max_positions) {
  std::vector<int32_t> end(static_cast<size_t>(forest.segments), 0);
  for (int32_t s = 0; s < forest.segments; s++) {
    const int32_t parent = forest.parents[s], length = forest.offsets[s + 1] - forest.offsets[s];
    require(parent >= -1 && parent < s, "VF_INVALID_VALUE",
            "Expected the parent of segment " + std::to_string(s) + " to precede it but received " +
                std::to_string(parent));
    require(length > 0, "VF_INVALID_VALUE",
            "Expected segment " + std::to_string(s) + " to have at least one token but received none");
    end[s] = length + (parent < 0 ? 0 : end[parent]);
    require(end[s] <= max_positions, "VF_TOO_LONG",
            "Expected at most " + std::to_string(max_positions) +
                " tokens (the model's max_position_embeddings) but segment " + std::to_string(s) + " ends at " +
                std::to_string(end[s]));
    for (int32_t t = forest.offsets[s]; t < forest.offsets[s + 1]; t++)
      require(forest.ids[t] >= 0 && forest.ids[t] < vocab, "VF_INVALID_VALUE",
              "Expected a token id below " + std::to_string(vocab) + " but received " + std::to_string(forest.ids[t]));
  }
}

std::vector<int32_t> tree_of_segments(const Forest& forest) {
  std::vector<int32_t> tree(static_cast<size_t>(forest.segments));
  int32_t trees = 0;
  for (int32_t s = 0; s < forest.segments; s++) tree[s] = forest.parents[s] < 0 ? trees++ : tree[forest.parents[s]];
  return tree;
}

TreePlan pack_trees(const Forest& forest, const std::vector<int32_t>& trees, int32_t first, int32_t last,
                    const std::vector<Span>& spans, const std::vector<int32_t>& span_first) {
  TreePlan plan;
  RowPlan& rows = plan.rows;
  std::vector<BlockList> lists(static_cast<size_t>(forest.segments));
  std::vector<int32_t> row_begin(static_cast<size_t>(forest.segments), -1);
  for (int32_t tree = first; tree < last; tree++) {
    for (int32_t s = 0; s < forest.segments; s++) {
      if (trees[s] != tree) continue;
      BlockList& list = lists[s];
      if (forest.parents[s] >= 0) list.append(lists[forest.parents[s]]);
      const size_t own_from = list.blocks.size();
      const int32_t keys_begin = list.keys + 1;
      row_begin[s] = static_cast<int32_t>(rows.rows());
      for (int32_t t = forest.offsets[s]; t < forest.offsets[s + 1]; t++) {
        bool used = false;
        rows.add_row(forest.ids[t], list, own_from, rows.blocks, &used);
        rows.blocks += used;
      }
      rows.add_run(rows.add_view(list), row_begin[s], keys_begin);
    }
    rows.end_family();
  }
  for (size_t i = 0; i < spans.size(); i++) {
    const Span& span = spans[i];
    if (row_begin[span.segment] < 0) continue;
    for (int32_t t = span.start; t < span.end; t++) {
      const int32_t parent = forest.parents[span.segment];
      const int32_t row = t > 0 ? row_begin[span.segment] + t - 1
                                : row_begin[parent] + forest.offsets[parent + 1] - forest.offsets[parent] - 1;
      plan.spans.push_back(SpanRow{row, forest.ids[forest.offsets[span.segment] + t], span_first[i] + t - span.start});
    }
  }
  return plan;
}

}  // namespace vf
