// How the attention ops cut their work: made on the host from the tables of views and runs, kept while these stay the
// same (all layers of a pass share one plan).
#pragma once
#include <vector>

#include "cuda_ops.h"

namespace vf {

constexpr int tile_queries = 64;  // rows times heads of a tensor-core tile
constexpr int tile_blocks = 4;    // KV blocks of a tile
constexpr int split_pairs = 16;   // KV blocks a decoding row's part walks: fixed, whatever the batch

// Consecutive rows of a run; pairs [pair_begin, pair_end) of the view hold all keys that they see, the first row
// `keys`.
struct QueryTile {
  int32_t row, rows, keys, pair_begin, pair_end;
};
// One row, or a part of its keys: its result goes to `part`, or is final where part is -1. Row -1: nothing to do.
struct RowTask {
  int32_t row, keys, pair_begin, pair_end, part;
};
struct CombineTask {  // row -1: nothing to do
  int32_t row, part_begin, parts;
};
// Up to four KV blocks (-1: none) whose runs are the same, and where the list of these begins.
struct KeyTile {
  int32_t blocks[tile_blocks];
  int32_t user_begin, users;
};
// A run that sees the tile: its rows, the first of which sees `keys` keys, and each block's place in its view.
struct KeyUser {
  int32_t row, rows, keys;
  int32_t begins[tile_blocks], counts[tile_blocks];
};

template <class T>
struct DeviceTable {
  const T* data = nullptr;
  int32_t count = 0;
};

struct AttentionPlan {
  DeviceTable<int32_t> begins;  // by pair: position of its first key
  DeviceTable<QueryTile> tiles;
  DeviceTable<RowTask> rows;
  DeviceTable<CombineTask> combines;
  DeviceTable<KeyTile> key_tiles;
  DeviceTable<KeyUser> key_users;
  int32_t parts = 0;      // results of RowTasks that are not final
  int32_t most_rows = 0;  // one past the last row of any run
};

// The plan of the tables at hand, forward or backward, and what it was made from.
struct CachedPlan {
  uint64_t version = 0;
  bool padded = false;
  const void *runs = nullptr, *views = nullptr;
  int32_t count = -1, group = 0;
  AttentionPlan plan;
};
struct AttentionPlans {
  CachedPlan forward, backward;
};

// tensor_tiles: runs of several rows become tiles, else every row is a task. backward: every run becomes tiles (or
// rows), nothing is split, and the key tiles are made. With c.padded_plans every table is filled up to a power of two.
AttentionPlan plan_attention(CudaContext& c, const Heads&, const KvViews&, const AttentionRuns&, bool tensor_tiles,
                             bool backward);

}  // namespace vf
