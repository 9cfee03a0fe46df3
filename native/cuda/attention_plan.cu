// The attention ops' plans (attention_plan.h).
#include "attention_plan.h"

#include <algorithm>
#include <cstring>

namespace vf {

namespace {

// Hands out pieces of one device buffer.
class TableBuilder {
 public:
  template <class T>
  void add(DeviceTable<T>& table, const std::vector<T>& rows) {
    const size_t at = (bytes_.size() + 63) / 64 * 64;
    bytes_.resize(at + rows.size() * sizeof(T));
    if (!rows.empty()) std::memcpy(bytes_.data() + at, rows.data(), rows.size() * sizeof(T));
    table.count = static_cast<int32_t>(rows.size());
    table.data = reinterpret_cast<const T*>(at);
  }
  char* upload(CudaContext& c, CudaScratch slot) {
    char* base = c.scratch.get<char>(slot, static_cast<int64_t>(bytes_.size()));
    c.upload(base, bytes_.data(), bytes_.size());
    return base;
  }

 private:
  std::vector<char> bytes_;
};

template <class T>
void move_to(DeviceTable<T>& table, char* base) {
  table.data = reinterpret_cast<const T*>(base + reinterpret_cast<size_t>(table.data));
}

// Fills a table up to a power of two (an empty one stays so).
template <class T>
void pad(std::vector<T>& table, const T& filler) {
  size_t size = table.empty() ? 0 : 1;
  while (size < table.size()) size *= 2;
  table.resize(size, filler);
}

struct HostViews {
  std::vector<int32_t> offsets, blocks, counts, begins;
};

HostViews read_views(CudaContext& c, const KvViews& views) {
  HostViews h;
  h.offsets = c.host_table(views.offsets, views.views + 1);
  h.blocks = c.host_table(views.blocks, h.offsets.back());
  h.counts = c.host_table(views.counts, h.offsets.back());
  h.begins.resize(h.blocks.size());
  for (int32_t v = 0; v < views.views; v++)
    for (int32_t p = h.offsets[v], at = 0; p < h.offsets[v + 1]; at += h.counts[p++]) h.begins[p] = at;
  return h;
}

// The pair after the last that holds one of the first `keys` keys of the view.
int32_t pair_after(const HostViews& h, int32_t view, int32_t keys) {
  const auto begin = h.begins.begin() + h.offsets[view], end = h.begins.begin() + h.offsets[view + 1];
  return static_cast<int32_t>(std::lower_bound(begin, end, keys) - h.begins.begin());
}

void plan_rows(const HostViews& h, const AttentionRun& run, bool split, std::vector<RowTask>& rows,
               std::vector<CombineTask>& combines, int32_t& parts) {
  for (int32_t i = 0; i < run.row_count; i++) {
    const int32_t keys = run.keys_begin + i, begin = h.offsets[run.view], end = pair_after(h, run.view, keys);
    if (!split || end - begin <= split_pairs) {
      rows.push_back({run.row_begin + i, keys, begin, end, -1});
      continue;
    }
    const int32_t first = parts;
    for (int32_t p = begin; p < end; p += split_pairs)
      rows.push_back({run.row_begin + i, keys, p, std::min(end, p + split_pairs), parts++});
    combines.push_back({run.row_begin + i, first, parts - first});
  }
}

// Which runs see a block, and where it stands in their views.
struct BlockUse {
  int32_t block;
  std::vector<int32_t> runs, begins, counts;
};

void plan_keys(const HostViews& h, const std::vector<AttentionRun>& runs, std::vector<KeyTile>& tiles,
               std::vector<KeyUser>& users) {
  std::vector<BlockUse> uses;
  std::unordered_map<int32_t, size_t> found;
  for (size_t r = 0; r < runs.size(); r++) {
    const AttentionRun& run = runs[r];
    const int32_t end = pair_after(h, run.view, run.keys_begin + run.row_count - 1);
    for (int32_t p = h.offsets[run.view]; p < end; p++) {
      const auto [at, fresh] = found.emplace(h.blocks[p], uses.size());
      if (fresh) uses.push_back(BlockUse{h.blocks[p], {}, {}, {}});
      BlockUse& use = uses[at->second];
      use.runs.push_back(static_cast<int32_t>(r));
      use.begins.push_back(h.begins[p]);
      use.counts.push_back(h.counts[p]);
    }
  }
  for (size_t first = 0, count; first < uses.size(); first += count) {
    count = 1;
    while (count < tile_blocks && first + count < uses.size() && uses[first + count].runs == uses[first].runs) count++;
    KeyTile tile{{-1, -1, -1, -1}, static_cast<int32_t>(users.size()), static_cast<int32_t>(uses[first].runs.size())};
    for (size_t b = 0; b < count; b++) tile.blocks[b] = uses[first + b].block;
    for (size_t u = 0; u < uses[first].runs.size(); u++) {
      const AttentionRun& run = runs[uses[first].runs[u]];
      KeyUser user{run.row_begin, run.row_count, run.keys_begin, {}, {}};
      for (size_t b = 0; b < count; b++) {
        user.begins[b] = uses[first + b].begins[u];
        user.counts[b] = uses[first + b].counts[u];
      }
      users.push_back(user);
    }
    tiles.push_back(tile);
  }
}

}  // namespace

AttentionPlan plan_attention(CudaContext& c, const Heads& heads, const KvViews& views, const AttentionRuns& table,
                             bool tensor_tiles, bool backward) {
  const std::vector<AttentionRun> runs = c.host_table(table.runs, table.count);
  HostViews h = read_views(c, views);
  const int32_t tile_rows = std::max(1, tile_queries / (heads.q_heads / heads.kv_heads));
  std::vector<QueryTile> tiles;
  std::vector<RowTask> rows;
  std::vector<CombineTask> combines;
  std::vector<KeyTile> key_tiles;
  std::vector<KeyUser> key_users;
  AttentionPlan plan;
  for (const AttentionRun& run : runs) {
    plan.most_rows = std::max(plan.most_rows, run.row_begin + run.row_count);
    if (!tensor_tiles || (run.row_count == 1 && !backward)) {
      plan_rows(h, run, run.row_count == 1 && !backward, rows, combines, plan.parts);
      continue;
    }
    for (int32_t i = 0; i < run.row_count; i += tile_rows) {
      const int32_t count = std::min(tile_rows, run.row_count - i), keys = run.keys_begin + i;
      tiles.push_back({run.row_begin + i, count, keys, h.offsets[run.view], pair_after(h, run.view, keys + count - 1)});
    }
  }
  if (backward) plan_keys(h, runs, key_tiles, key_users);
  if (c.padded_plans) {
    pad(h.begins, 0);
    pad(rows, RowTask{-1, 0, 0, 0, -1});
    pad(combines, CombineTask{-1, 0, 0});
    if (plan.parts > 0) plan.parts = static_cast<int32_t>(rows.size());
  }
  TableBuilder builder;
  builder.add(plan.begins, h.begins);
  builder.add(plan.tiles, tiles);
  builder.add(plan.rows, rows);
  builder.add(plan.combines, combines);
  builder.add(plan.key_tiles, key_tiles);
  builder.add(plan.key_users, key_users);
  char* base = builder.upload(c, backward ? CudaScratch::backward_tables : CudaScratch::forward_tables);
  move_to(plan.begins, base);
  move_to(plan.tiles, base);
  move_to(plan.rows, base);
  move_to(plan.combines, base);
  move_to(plan.key_tiles, base);
  move_to(plan.key_users, base);
  return plan;
}

}  // namespace vf
