// Draws one token a row. A row's token and log-prob depend on its logits and its uniform number alone.
#include <algorithm>
#include <vector>

#include "cpu_ops.h"
#include "row_logprob.h"

namespace vf {

namespace {

struct Candidate {
  float logit;
  int32_t id;
};

// Larger logits first, lower ids first among equals.
bool before(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }
bool after(const Candidate& a, const Candidate& b) { return before(b, a); }

// What a thread reuses from row to row; reserved beforehand, since a pool's body must not throw.
struct Workspace {
  std::vector<ChunkSum> chunks;
  std::vector<Candidate> candidates;
  std::vector<double> weights;
};

struct Row {
  const float* logits;
  int64_t vocab;
  float scale;
  double uniform;
};

double largest_of(const std::vector<ChunkSum>& chunks) {
  double largest = -__builtin_inf();
  for (const ChunkSum& c : chunks)
    if (c.sum > 0 && c.largest > largest) largest = c.largest;
  return largest;
}

double chunk_weight(const ChunkSum& c, double largest) {
  return c.sum == 0 ? 0 : c.sum * exp_double(c.largest - largest);
}

// The first index at which the running sum of weight(i), i < count, passes `share` of the total, or the first at which
// it reaches the total: so rounding can't push a draw into a tail too small to move the sum. -1 where the total is 0
// or a NaN. `below` becomes the sum before the index.
template <class Weight>
int64_t pick(int64_t count, double share, double total, const Weight& weight, double& below) {
  below = 0;
  const double target = share * total;
  for (int64_t i = 0; i < count; i++) {
    const double w = weight(i);
    if (!(w > 0)) continue;
    const double sum = below + w;
    if (sum > target || sum == total) return i;
    below = sum;
  }
  return -1;
}

template <class Weight>
double total_of(int64_t count, const Weight& weight) {
  double total = 0;
  for (int64_t i = 0; i < count; i++) total += weight(i);
  return total;
}

// Inverse CDF over ids in order: the chunk by the sums at hand, then the token within it.
int64_t draw_whole(const RowKernels& k, const Row& row, const Workspace& work) {
  const double largest = largest_of(work.chunks);
  const auto chunk_at = [&](int64_t i) { return chunk_weight(work.chunks[i], largest); };
  const int64_t chunks = static_cast<int64_t>(work.chunks.size());
  const double total = total_of(chunks, chunk_at);
  double below;
  const int64_t chunk = pick(chunks, row.uniform, total, chunk_at, below);
  if (chunk < 0) return -1;
  const int64_t begin = chunk * vocab_chunk, count = std::min<int64_t>(vocab_chunk, row.vocab - begin);
  float weights[vocab_chunk];
  k.exp_weights(row.logits + begin, count, row.scale, work.chunks[chunk].largest, weights);
  const auto token_at = [&](int64_t v) { return static_cast<double>(weights[v]); };
  const double share = std::min(1.0, (row.uniform * total - below) / chunk_at(chunk));
  const int64_t token = pick(count, share, total_of(count, token_at), token_at, below);
  return token < 0 ? -1 : begin + token;
}

// Cut to the top_k largest, then to the fewest of these whose share reaches top_p, then inverse CDF in order of size.
int64_t draw_cut(const Row& row, int32_t top_k, float top_p, Workspace& work) {
  const double largest = largest_of(work.chunks);
  const auto weight_of = [&](const Candidate& c) {
    return exp_double(static_cast<double>(c.logit * row.scale) - largest);
  };
  double total = 0;
  for (const ChunkSum& c : work.chunks) total += chunk_weight(c, largest);
  // Tokens whose share is under (1 - top_p) / vocab add up to less than 1 - top_p: none of them is ever kept, unless
  // top_k renormalizes. Half of it leaves room for rounding.
  double least = -__builtin_inf();
  if (top_k <= 0 && top_p < 1)
    least = largest + log_double(0.5 * (1.0 - top_p) * total / static_cast<double>(row.vocab));
  std::vector<Candidate>& all = work.candidates;
  all.clear();
  for (int64_t v = 0; v < row.vocab; v++)
    if (row.logits[v] > -__builtin_inff() && row.logits[v] * row.scale >= least)
      all.push_back({row.logits[v], static_cast<int32_t>(v)});
  if (top_k > 0 && static_cast<size_t>(top_k) < all.size()) {
    std::nth_element(all.begin(), all.begin() + top_k, all.end(), before);
    all.resize(top_k);
    std::sort(all.begin(), all.end(), before);
    total = 0;
    for (const Candidate& c : all) total += weight_of(c);
  }
  const double share = top_p < 1 ? top_p * total : __builtin_inf();
  std::make_heap(all.begin(), all.end(), after);
  work.weights.clear();
  double kept = 0;
  auto end = all.end();
  while (end != all.begin()) {
    std::pop_heap(all.begin(), end, after);  // moves the largest to the end
    --end;
    work.weights.push_back(weight_of(*end));
    kept += work.weights.back();
    if (kept >= share) break;
  }
  double below;
  const int64_t chosen = pick(
      static_cast<int64_t>(work.weights.size()), row.uniform, kept, [&](int64_t i) { return work.weights[i]; }, below);
  return chosen < 0 ? -1 : all[all.size() - 1 - chosen].id;
}

}  // namespace

void cpu_sample(CpuContext& context, const SampleArgs& a) {
  const bool greedy = a.temperature <= 1e-6f;
  const bool cut = !greedy && ((a.top_k > 0 && a.top_k < a.vocab) || a.top_p < 1);
  const float scale = greedy ? 1.0f : 1.0f / a.temperature;
  const RowKernels& k = context.k.rows;
  std::vector<Workspace> workspaces(context.pool.threads());
  for (Workspace& w : workspaces) {
    w.chunks.reserve(a.vocab / vocab_chunk + 1);
    if (cut) w.candidates.reserve(a.vocab);
    if (cut) w.weights.reserve(a.vocab);
  }
  context.pool.parallel_for(a.rows, [&](int64_t i, int thread) {
    Workspace& work = workspaces[thread];
    const Row row = {a.logits + i * a.vocab, a.vocab, scale, greedy ? 0.0 : a.uniform[i]};
    const double lse = row_lse(k, row.logits, row.vocab, scale, &work.chunks);
    int64_t id = greedy ? -1 : cut ? draw_cut(row, a.top_k, a.top_p, work) : draw_whole(k, row, work);
    if (id < 0) id = k.argmax(row.logits, row.vocab);
    a.ids[i] = static_cast<int32_t>(id);
    a.logprob[i] = row_logprob(row.logits[id], scale, lse);
  });
}

}  // namespace vf
