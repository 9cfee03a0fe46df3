// Attention over the KV store: a forward task is a tile of rows of one run under one kv head, a backward task is a
// family of runs under one kv head, which alone adds to the gradients of the keys that the family shares.
#include <algorithm>
#include <string>
#include <vector>

#include "../core/error.h"
#include "cpu_ops.h"

namespace vf {

namespace {

// Multiply-adds below which waking a second thread costs more than it gives.
constexpr int64_t parallel_work = 200000;

template <class Args>
AttentionPart part_of(const Args& a, const AttentionRun& run, int kv_head) {
  const Heads& h = a.heads;
  AttentionPart p;
  p.head_dim = h.head_dim;
  p.value_pad = h.value_pad();
  p.group = h.q_heads / h.kv_heads;
  p.scale = a.scale;
  p.keys = static_cast<const float*>(a.store.keys) + static_cast<int64_t>(kv_head) * h.head_dim * kv_block;
  p.values = static_cast<const float*>(a.store.values) + static_cast<int64_t>(kv_head) * p.value_pad * kv_block;
  p.key_block = h.key_block_size();
  p.value_block = h.value_block_size();
  p.blocks = a.views.blocks + a.views.offsets[run.view];
  p.counts = a.views.counts + a.views.offsets[run.view];
  p.row_width = static_cast<int64_t>(h.q_heads) * h.head_dim;
  p.heads_width = h.q_heads;
  return p;
}

// Moves a part to rows [begin, begin + count) of its run; returns the index of the first of them.
int64_t take_rows(AttentionPart& p, const AttentionRun& run, int begin, int count) {
  p.rows = count;
  p.first_keys = run.keys_begin + begin;
  return static_cast<int64_t>(run.row_begin) + begin;
}

void require_heads(const Heads& h) {
  require(h.head_dim > 0 && h.head_dim <= max_head_dim && h.kv_heads > 0 && h.q_heads % h.kv_heads == 0,
          "VF_UNSUPPORTED",
          "Expected a head_dim of at most " + std::to_string(max_head_dim) +
              " and q_heads a multiple of kv_heads but received head_dim " + std::to_string(h.head_dim) + ", q_heads " +
              std::to_string(h.q_heads) + ", kv_heads " + std::to_string(h.kv_heads));
}

int64_t padded(int64_t count) { return (count + 15) / 16 * 16; }

// Hands out pieces of one buffer, each 64-byte aligned; with no buffer it only counts.
struct Pieces {
  float* memory;
  int64_t used = 0;
  float* take(int64_t count) {
    float* p = memory ? memory + used : nullptr;
    used += padded(count);
    return p;
  }
};

void take_scratch(AttentionForward& f, Pieces& pieces, int64_t queries, int64_t score_width) {
  f.score_width = score_width;
  f.queries = pieces.take(queries * f.part.head_dim);
  f.scores = pieces.take(queries * score_width);
  f.sums = pieces.take(queries * f.part.value_pad);
}

void take_scratch(AttentionBackward& b, Pieces& pieces, int64_t queries) {
  const AttentionPart& p = b.part;
  for (float** x : {&b.q_rows, &b.dout_rows, &b.dq_rows}) *x = pieces.take(queries * p.value_pad);
  for (float** x : {&b.weights, &b.slopes}) *x = pieces.take(queries * kv_block);
  for (float** x : {&b.means, &b.log_sums}) *x = pieces.take(queries);
  b.key_rows = pieces.take(kv_block * p.value_pad);
  b.value_columns = pieces.take(p.head_dim * kv_block);
}

}  // namespace

void cpu_attention(CpuContext& c, const AttentionArgs& a) {
  require_heads(a.heads);
  const int group = a.heads.q_heads / a.heads.kv_heads, kv_heads = a.heads.kv_heads;
  const int tile = std::max(1, attention_tile / group);
  // tiles_before[i]: tiles of all runs before run i
  std::vector<int64_t> tiles_before(1, 0);
  int64_t most_keys = 0, pairs = 0;
  for (int i = 0; i < a.runs.count; i++) {
    const AttentionRun& run = a.runs.runs[i];
    tiles_before.push_back(tiles_before.back() + (run.row_count + tile - 1) / tile);
    most_keys = std::max<int64_t>(most_keys, static_cast<int64_t>(run.keys_begin) + run.row_count - 1);
    pairs += static_cast<int64_t>(run.row_count) * (run.keys_begin + run.row_count / 2);
  }
  if (tiles_before.back() == 0) return;
  const int64_t score_width = padded(most_keys + 15), queries = static_cast<int64_t>(tile) * group;
  AttentionForward shape;
  shape.part = part_of(a, a.runs.runs[0], 0);
  Pieces count{nullptr};
  take_scratch(shape, count, queries, score_width);
  float* scratch = c.scratch.floats(Scratch::attention, count.used * c.pool.threads());
  const auto body = [&](int64_t task, int thread) {
    const auto next = std::upper_bound(tiles_before.begin(), tiles_before.end(), task / kv_heads);
    const AttentionRun& run = a.runs.runs[next - tiles_before.begin() - 1];
    // within a run, head by head, so that neighbours in time read the same keys
    const int64_t tiles = *next - *(next - 1), at = task - *(next - 1) * kv_heads;
    const int head = static_cast<int>(at / tiles), begin = static_cast<int>(at % tiles) * tile;
    AttentionForward f;
    f.part = part_of(a, run, head);
    const int64_t row = take_rows(f.part, run, begin, std::min(tile, run.row_count - begin));
    f.part.q = a.q + row * f.part.row_width + head * group * a.heads.head_dim;
    f.out = a.out + row * f.part.row_width + head * group * a.heads.head_dim;
    f.lse = a.lse ? a.lse + row * a.heads.q_heads + head * group : nullptr;
    Pieces pieces{scratch + count.used * thread};
    take_scratch(f, pieces, queries, score_width);
    c.k.attention.forward(f);
  };
  const int64_t tasks = tiles_before.back() * kv_heads;
  if (pairs * a.heads.q_heads * a.heads.head_dim < parallel_work) {
    for (int64_t task = 0; task < tasks; task++) body(task, 0);
  } else {
    c.pool.parallel_for(tasks, body);
  }
}

void cpu_attention_backward(CpuContext& c, const AttentionBackwardArgs& a) {
  require_heads(a.heads);
  if (a.runs.count == 0) return;
  const int group = a.heads.q_heads / a.heads.kv_heads, kv_heads = a.heads.kv_heads;
  const int chunk = std::max(1, attention_chunk / group);
  const int64_t queries = static_cast<int64_t>(chunk) * group;
  AttentionBackward shape;
  shape.part = part_of(a, a.runs.runs[0], 0);
  Pieces count{nullptr};
  take_scratch(shape, count, queries);
  float* scratch = c.scratch.floats(Scratch::attention, count.used * c.pool.threads());
  c.pool.parallel_for(static_cast<int64_t>(a.runs.families) * kv_heads, [&](int64_t task, int thread) {
    const int family = static_cast<int>(task / kv_heads), head = static_cast<int>(task % kv_heads);
    for (int i = a.runs.family_offsets[family]; i < a.runs.family_offsets[family + 1]; i++) {
      const AttentionRun& run = a.runs.runs[i];
      AttentionBackward b;
      b.part = part_of(a, run, head);
      Pieces pieces{scratch + count.used * thread};
      take_scratch(b, pieces, queries);
      b.dkeys = a.dkeys + static_cast<int64_t>(head) * b.part.value_pad * kv_block;
      b.dvalues = a.dvalues + static_cast<int64_t>(head) * b.part.value_pad * kv_block;
      for (int begin = 0; begin < run.row_count; begin += chunk) {
        const int64_t row = take_rows(b.part, run, begin, std::min(chunk, run.row_count - begin));
        const int64_t at = row * b.part.row_width + head * group * a.heads.head_dim;
        b.part.q = a.q + at;
        b.out = a.out + at;
        b.dout = a.dout + at;
        b.dq = a.dq + at;
        b.lse = a.lse + row * a.heads.q_heads + head * group;
        c.k.attention.backward(b);
      }
    }
  });
}

}  // namespace vf
