// A packed forest of sequences for the attention tests: its KV store, views and runs, and plain double loops for
// what attention and its gradient must be.
#pragma once
#include <algorithm>

#include "guarded.h"

namespace vf_test {

// tokens are indices into the case's q, k and v; a node sees its ancestors' tokens first
struct Node {
  int parent;
  std::vector<int> tokens;
};
using Family = std::vector<Node>;

// q [tokens, q_heads, head_dim]; k, v [tokens, kv_heads, head_dim]
struct Inputs {
  vf::Heads heads;
  int tokens;
  Floats q, k, v, dout;
  Inputs(vf::Heads h, int count, uint64_t seed)
      : heads(h),
        tokens(count),
        q(size_t(count) * h.q_heads * h.head_dim),
        k(size_t(count) * h.kv_heads * h.head_dim),
        v(k.size()),
        dout(q.size()) {
    Numbers numbers(seed);
    numbers.fill(q);
    numbers.fill(k);
    numbers.fill(v);
    numbers.fill(dout);
  }
};

inline std::vector<int> path_tokens(const Family& family, int node) {
  std::vector<int> list;
  if (family[node].parent >= 0) list = path_tokens(family, family[node].parent);
  list.insert(list.end(), family[node].tokens.begin(), family[node].tokens.end());
  return list;
}

// The forest as a backend sees it. by_row: every row is a run with a view of its own, as in decoding.
struct Layout {
  std::vector<int> token_of_row;
  std::vector<int> offsets{0}, blocks, counts, families{0};
  std::vector<vf::AttentionRun> runs;
  std::vector<int> block_of_token, slot_of_token;
  int block_count = 0;
  vf::KvViews views() const { return {offsets.data(), blocks.data(), counts.data(), int32_t(offsets.size() - 1)}; }
  vf::AttentionRuns attention_runs() const {
    return {runs.data(), int32_t(runs.size()), families.data(), int32_t(families.size() - 1)};
  }

  Layout(const std::vector<Family>& forest, int tokens, bool by_row, uint64_t seed) {
    block_of_token.assign(tokens, -1);
    slot_of_token.assign(tokens, -1);
    for (const Family& family : forest)
      for (const Node& node : family) block_count += int(node.tokens.size() + vf::kv_block - 1) / vf::kv_block;
    block_count += 2;  // two blocks belong to nobody
    std::vector<int> ids(block_count);
    for (int i = 0; i < block_count; i++) ids[i] = i;
    Numbers numbers(seed);
    for (int i = block_count - 1; i > 0; i--) std::swap(ids[i], ids[numbers.next() % (i + 1)]);
    size_t used = 0;
    for (const Family& family : forest) {
      std::vector<std::vector<std::pair<int, int>>> pairs(family.size());
      for (size_t n = 0; n < family.size(); n++) {
        const Node& node = family[n];
        if (node.parent >= 0) pairs[n] = pairs[node.parent];
        int keys = 0;
        for (const auto& pair : pairs[n]) keys += pair.second;
        const int row_begin = int(token_of_row.size());
        for (size_t i = 0; i < node.tokens.size(); i++) {
          if (i % vf::kv_block == 0) pairs[n].push_back({ids[used++], 0});
          block_of_token[node.tokens[i]] = pairs[n].back().first;
          slot_of_token[node.tokens[i]] = pairs[n].back().second++;
          token_of_row.push_back(node.tokens[i]);
          if (by_row) add_run(pairs[n], row_begin + int(i), 1, keys + int(i) + 1);
        }
        if (!by_row) add_run(pairs[n], row_begin, int(node.tokens.size()), keys + 1);
      }
      families.push_back(int(runs.size()));
    }
  }
  void add_run(const std::vector<std::pair<int, int>>& pairs, int row, int count, int keys) {
    runs.push_back({int32_t(offsets.size() - 1), row, count, keys});
    for (const auto& pair : pairs) {
      blocks.push_back(pair.first);
      counts.push_back(pair.second);
    }
    offsets.push_back(int(blocks.size()));
  }
};

// The store of a layout; slots that hold no token are NaN, so a key that nobody may see shows at once.
struct Store {
  Floats keys, values;
  Store(const Inputs& in, const Layout& layout)
      : keys(size_t(layout.block_count) * in.heads.key_block_size()),
        values(size_t(layout.block_count) * in.heads.value_block_size()) {
    keys.fill(NAN);
    values.fill(NAN);
    const int dim = in.heads.head_dim, pad = in.heads.value_pad();
    for (int token : layout.token_of_row) {
      const size_t block = layout.block_of_token[token], slot = layout.slot_of_token[token];
      for (int h = 0; h < in.heads.kv_heads; h++) {
        for (int d = 0; d < pad; d++) {
          const size_t from = (size_t(token) * in.heads.kv_heads + h) * dim + d;
          const size_t row = (block * in.heads.kv_heads + h) * vf::kv_block + slot;
          values[row * pad + d] = d < dim ? in.v[from] : 0;
          if (d < dim) keys[((block * in.heads.kv_heads + h) * dim + d) * vf::kv_block + slot] = in.k[from];
        }
      }
    }
  }
  vf::KvStore view() { return {keys.data(), values.data()}; }
};

// What a backend computed, by token: out, lse, and after a backward dq, dk, dv.
struct Result {
  Floats out, lse, dq, dk, dv;
  explicit Result(const Inputs& in)
      : out(in.q.size()), lse(size_t(in.tokens) * in.heads.q_heads), dq(in.q.size()), dk(in.k.size()), dv(in.v.size()) {
    for (Floats* x : {&out, &lse, &dq, &dk, &dv}) x->fill(0);
  }
  bool same_bits(const Result& o) const {
    return out.same_bits(o.out) && lse.same_bits(o.lse) && dq.same_bits(o.dq) && dk.same_bits(o.dk) &&
           dv.same_bits(o.dv);
  }
};

inline Result run_attention(vf::Ops& ops, Inputs& in, const Layout& layout, bool backward) {
  const vf::Heads heads = in.heads;
  const int rows = int(layout.token_of_row.size()), width = heads.q_heads * heads.head_dim, pad = heads.value_pad();
  Store store(in, layout);
  Floats q(size_t(rows) * width), dout(q.size()), out(q.size()), lse(size_t(rows) * heads.q_heads), dq(q.size());
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r];
    std::memcpy(q.data() + size_t(r) * width, in.q.data() + token * width, width * 4);
    std::memcpy(dout.data() + size_t(r) * width, in.dout.data() + token * width, width * 4);
  }
  const float scale = 1 / std::sqrt(float(heads.head_dim));
  const vf::KvViews views = layout.views();
  const vf::AttentionRuns runs = layout.attention_runs();
  ops.attention({heads, scale, q.data(), store.view(), views, runs, out.data(), lse.data()});
  check(out.intact() && lse.intact() && q.intact() && store.keys.intact() && store.values.intact(),
        "attention guard words");
  Result result(in);
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r];
    std::memcpy(result.out.data() + token * width, out.data() + size_t(r) * width, width * 4);
    std::memcpy(result.lse.data() + token * heads.q_heads, lse.data() + size_t(r) * heads.q_heads, heads.q_heads * 4);
  }
  if (!backward) return result;
  Floats dkeys(size_t(layout.block_count) * heads.value_block_size()), dvalues(dkeys.size());
  dkeys.fill(0);
  dvalues.fill(0);
  ops.attention_backward({heads, scale, q.data(), store.view(), views, runs, out.data(), lse.data(), dout.data(),
                          dq.data(), dkeys.data(), dvalues.data()});
  check(dq.intact() && dkeys.intact() && dvalues.intact(), "attention_backward guard words");
  std::vector<char> owned(size_t(layout.block_count) * vf::kv_block, 0);
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r];
    const size_t block = layout.block_of_token[token], slot = layout.slot_of_token[token];
    owned[block * vf::kv_block + slot] = 1;
    std::memcpy(result.dq.data() + token * width, dq.data() + size_t(r) * width, width * 4);
    for (int h = 0; h < heads.kv_heads; h++) {
      const size_t from = ((block * heads.kv_heads + h) * vf::kv_block + slot) * pad;
      const size_t to = (token * heads.kv_heads + h) * heads.head_dim;
      std::memcpy(result.dk.data() + to, dkeys.data() + from, heads.head_dim * 4);
      std::memcpy(result.dv.data() + to, dvalues.data() + from, heads.head_dim * 4);
    }
  }
  for (size_t i = 0; i < dkeys.size(); i++) {
    const size_t slot = i / pad % vf::kv_block, block = i / heads.value_block_size();
    if (owned[block * vf::kv_block + slot]) continue;
    check(dkeys[i] == 0 && dvalues[i] == 0, "a slot without token keeps its zero gradient");
  }
  return result;
}

// Double precision, one token and head at a time.
struct Oracle {
  std::vector<double> q, k, v, out, lse, dq, dk, dv;
  std::vector<std::vector<int>> seen;  // by token: the tokens it attends to
  vf::Heads heads;
  explicit Oracle(const Inputs& in, const std::vector<Family>& forest) : seen(in.tokens), heads(in.heads) {
    q.assign(in.q.data(), in.q.data() + in.q.size());
    k.assign(in.k.data(), in.k.data() + in.k.size());
    v.assign(in.v.data(), in.v.data() + in.v.size());
    for (const Family& family : forest) {
      for (size_t n = 0; n < family.size(); n++) {
        const std::vector<int> path = path_tokens(family, int(n));
        const size_t before = path.size() - family[n].tokens.size();
        for (size_t i = before; i < path.size(); i++) seen[path[i]].assign(path.begin(), path.begin() + i + 1);
      }
    }
  }
  double scale() const { return 1 / std::sqrt(float(heads.head_dim)); }
  size_t q_at(int token, int head) const { return (size_t(token) * heads.q_heads + head) * heads.head_dim; }
  size_t kv_at(int token, int head) const {
    return (size_t(token) * heads.kv_heads + head / (heads.q_heads / heads.kv_heads)) * heads.head_dim;
  }
  std::vector<double> probabilities(int token, int head) {
    std::vector<double> p;
    double top = -INFINITY, sum = 0;
    for (int other : seen[token]) {
      double s = 0;
      for (int d = 0; d < heads.head_dim; d++) s += q[q_at(token, head) + d] * k[kv_at(other, head) + d];
      p.push_back(s * scale());
      top = std::max(top, p.back());
    }
    for (double& x : p) sum += x = std::exp(x - top);
    for (double& x : p) x /= sum;
    if (!lse.empty()) lse[size_t(token) * heads.q_heads + head] = top + std::log(sum);
    return p;
  }
  void forward() {
    out.assign(q.size(), 0);
    lse.assign(seen.size() * heads.q_heads, 0);
    for (size_t t = 0; t < seen.size(); t++) {
      for (int h = 0; h < heads.q_heads; h++) {
        const std::vector<double> p = probabilities(int(t), h);
        for (size_t j = 0; j < p.size(); j++)
          for (int d = 0; d < heads.head_dim; d++) out[q_at(int(t), h) + d] += p[j] * v[kv_at(seen[t][j], h) + d];
      }
    }
  }
  // sum dout * out
  double loss(const Floats& dout) {
    forward();
    double sum = 0;
    for (size_t i = 0; i < out.size(); i++) sum += out[i] * dout[i];
    return sum;
  }
  void backward(const Floats& dout) {
    forward();
    dq.assign(q.size(), 0);
    dk.assign(k.size(), 0);
    dv.assign(v.size(), 0);
    for (size_t t = 0; t < seen.size(); t++) {
      for (int h = 0; h < heads.q_heads; h++) {
        const std::vector<double> p = probabilities(int(t), h);
        const size_t row = q_at(int(t), h);
        double mean = 0;
        for (int d = 0; d < heads.head_dim; d++) mean += dout[row + d] * out[row + d];
        for (size_t j = 0; j < p.size(); j++) {
          const size_t other = kv_at(seen[t][j], h);
          double dp = 0;
          for (int d = 0; d < heads.head_dim; d++) dp += dout[row + d] * v[other + d];
          const double ds = p[j] * (dp - mean) * scale();
          for (int d = 0; d < heads.head_dim; d++) {
            dq[row + d] += ds * k[other + d];
            dk[other + d] += ds * q[row + d];
            dv[other + d] += p[j] * dout[row + d];
          }
        }
      }
    }
  }
};

}  // namespace vf_test
