// Parity of attention: packed trees and rows decoded one at a time, ragged and long, GQA ratios 1, 2, 4 and 7. The
// plain bf16 loop rounds q, k, v, dout, the probabilities and the score gradients. Rows without tensor cores round
// nothing but what the store holds: they are held against the CPU on these keys and values, within the f32 limit.
#include "cuda_parity.h"

namespace vf_test {

namespace {

std::vector<int> take(int& next, int count) {
  std::vector<int> list;
  for (int i = 0; i < count; i++) list.push_back(next++);
  return list;
}

// Prompts with traces below them and answers below one of these; lengths 1, block borders and odd ones.
std::vector<Family> forest_of(int& next, bool small) {
  std::vector<Family> forest;
  Family family = {{-1, take(next, small ? 5 : 37)}};
  family.push_back({0, take(next, 1)});
  family.push_back({0, take(next, 16)});
  family.push_back({2, take(next, 3)});
  if (!small) family.push_back({0, take(next, 33)});
  forest.push_back(family);
  forest.push_back({{-1, take(next, 1)}});
  if (!small) forest.push_back({{-1, take(next, 65)}});
  return forest;
}

Result run_on(vf::Ops& ops, const Inputs& in, const Layout& layout, bool backward) {
  const vf::Heads heads = in.heads;
  const int rows = int(layout.token_of_row.size()), width = heads.q_heads * heads.head_dim, pad = heads.value_pad();
  Store store(in, layout);
  Floats q(size_t(rows) * width), dout(q.size()), grads(size_t(layout.block_count) * heads.value_block_size());
  grads.fill(0);
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r];
    std::memcpy(q.data() + size_t(r) * width, in.q.data() + token * width, width * 4);
    std::memcpy(dout.data() + size_t(r) * width, in.dout.data() + token * width, width * 4);
  }
  const auto ints = [](const std::vector<int>& list) {
    Ints x(list.size());
    for (size_t i = 0; i < list.size(); i++) x[i] = list[i];
    return x;
  };
  Ints runs(layout.runs.size() * 4);
  std::memcpy(runs.data(), layout.runs.data(), runs.size() * 4);
  DeviceInts offsets(ops, ints(layout.offsets)), blocks(ops, ints(layout.blocks)), counts(ops, ints(layout.counts)),
      families(ops, ints(layout.families)), runs_(ops, runs);
  const vf::KvViews views{offsets.data(), blocks.data(), counts.data(), int32_t(layout.offsets.size() - 1)};
  const vf::AttentionRuns table{reinterpret_cast<const vf::AttentionRun*>(runs_.data()), int32_t(layout.runs.size()),
                                families.data(), int32_t(layout.families.size() - 1)};
  DeviceStore k(ops, store.keys), v(ops, store.values);
  DeviceFloats q_(ops, q), out(ops, Floats(q.size())), lse(ops, Floats(size_t(rows) * heads.q_heads)), dout_(ops, dout),
      dq(ops, Floats(q.size())), dk(ops, grads), dv(ops, grads);
  const float scale = 1 / std::sqrt(float(heads.head_dim));
  ops.attention({heads, scale, q_.data(), {k.data(), v.data()}, views, table, out.data(), lse.data()});
  Result result(in);
  const Floats out_rows = out.fetch("attention"), lse_rows = lse.fetch("attention");
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r];
    std::memcpy(result.out.data() + token * width, out_rows.data() + size_t(r) * width, width * 4);
    std::memcpy(result.lse.data() + token * heads.q_heads, lse_rows.data() + size_t(r) * heads.q_heads,
                heads.q_heads * 4);
  }
  if (!backward) return result;
  ops.attention_backward({heads,
                          scale,
                          q_.data(),
                          {k.data(), v.data()},
                          views,
                          table,
                          out.data(),
                          lse.data(),
                          dout_.data(),
                          dq.data(),
                          dk.data(),
                          dv.data()});
  const Floats dq_rows = dq.fetch("attention_backward"), dk_rows = dk.fetch("attention_backward"),
               dv_rows = dv.fetch("attention_backward");
  std::vector<char> owned(size_t(layout.block_count) * vf::kv_block, 0);
  for (int r = 0; r < rows; r++) {
    const size_t token = layout.token_of_row[r], block = layout.block_of_token[token],
                 slot = layout.slot_of_token[token];
    owned[block * vf::kv_block + slot] = 1;
    std::memcpy(result.dq.data() + token * width, dq_rows.data() + size_t(r) * width, width * 4);
    for (int h = 0; h < heads.kv_heads; h++) {
      const size_t from = ((block * heads.kv_heads + h) * vf::kv_block + slot) * pad,
                   to = (token * heads.kv_heads + h) * heads.head_dim;
      std::memcpy(result.dk.data() + to, dk_rows.data() + from, heads.head_dim * 4);
      std::memcpy(result.dv.data() + to, dv_rows.data() + from, heads.head_dim * 4);
    }
  }
  for (size_t i = 0; i < dk_rows.size(); i++)
    if (!owned[i / heads.value_block_size() * vf::kv_block + i / pad % vf::kv_block])
      check(dk_rows[i] == 0 && dv_rows[i] == 0, "a slot without token keeps its zero gradient");
  return result;
}

// The same problem with the keys and values that the backend's store keeps.
Inputs as_stored(const vf::Ops& ops, const Inputs& in) {
  Inputs kept = in;
  const Floats k = stored(ops, in.k), v = stored(ops, in.v);
  std::memcpy(kept.k.data(), k.data(), k.size() * 4);
  std::memcpy(kept.v.data(), v.data(), v.size() * 4);
  return kept;
}

// Attention as a plain loop with bf16 operands and f32 sums.
Result plain_loop(const Inputs& exact, const std::vector<Family>& forest) {
  Inputs in(exact.heads, exact.tokens, 1);
  const auto round_to = [](Floats& to, const Floats& from) {
    for (size_t i = 0; i < from.size(); i++) to[i] = rounded(from[i]);
  };
  round_to(in.q, exact.q);
  round_to(in.k, exact.k);
  round_to(in.v, exact.v);
  round_to(in.dout, exact.dout);
  const Oracle places(in, forest);
  Result r(in);
  const int dim = in.heads.head_dim;
  const float scale = static_cast<float>(places.scale());
  for (int t = 0; t < in.tokens; t++)
    for (int h = 0; h < in.heads.q_heads; h++) {
      const size_t row = places.q_at(t, h);
      std::vector<float> p;
      float top = -INFINITY, sum = 0, mean = 0;
      for (const int other : places.seen[t]) {
        float s = 0;
        for (int d = 0; d < dim; d++) s += in.q[row + d] * in.k[places.kv_at(other, h) + d];
        p.push_back(s * scale);
        top = std::max(top, p.back());
      }
      for (float& x : p) sum += x = std::exp(x - top);
      r.lse[size_t(t) * in.heads.q_heads + h] = top + std::log(sum);
      for (size_t j = 0; j < p.size(); j++)
        for (int d = 0; d < dim; d++) r.out[row + d] += rounded(p[j]) * in.v[places.kv_at(places.seen[t][j], h) + d];
      for (int d = 0; d < dim; d++) r.out[row + d] /= sum;
      for (int d = 0; d < dim; d++) mean += exact.dout[row + d] * r.out[row + d];
      for (size_t j = 0; j < p.size(); j++) {
        const size_t other = places.kv_at(places.seen[t][j], h);
        float dp = 0;
        for (int d = 0; d < dim; d++) dp += in.dout[row + d] * in.v[other + d];
        const float weight = rounded(p[j] / sum), slope = rounded(p[j] / sum * (dp - mean) * scale);
        for (int d = 0; d < dim; d++) {
          r.dq[row + d] += slope * in.k[other + d];
          r.dk[other + d] += slope * in.q[row + d];
          r.dv[other + d] += weight * in.dout[row + d];
        }
      }
    }
  return r;
}

void compare(Parity& p, const std::string& shape, const Result& got, const Result& want, const Result* plain,
             bool backward) {
  const std::pair<const char*, const Floats Result::*> parts[] = {{"attention", &Result::out},
                                                                  {"attention lse", &Result::lse},
                                                                  {"attention dq", &Result::dq},
                                                                  {"attention dk", &Result::dk},
                                                                  {"attention dv", &Result::dv}};
  for (int i = 0; i < (backward ? 5 : 2); i++) {
    const auto part = parts[i].second;
    p.row(parts[i].first, shape, nmse(got.*part, want.*part), plain ? nmse(plain->*part, want.*part) : -1);
  }
}

void attend(Parity& p, vf::Heads heads) {
  int next = 0;
  const std::vector<Family> forest = forest_of(next, p.small);
  const Inputs in(heads, next, 31), kept = as_stored(p.cuda, in);
  const Layout packed(forest, next, false, 5), decoded(forest, next, true, 6);
  const bool tensor = p.bf16 && (heads.head_dim == 64 || heads.head_dim == 128);
  const std::string shape = shape_of(next, heads.q_heads, heads.kv_heads, heads.head_dim);
  const Result plain = plain_loop(in, forest), want = run_on(p.cpu, in, packed, true),
               want_kept = run_on(p.cpu, kept, packed, true);
  compare(p, shape, run_on(p.cuda, in, packed, true), tensor ? want : want_kept, tensor ? &plain : nullptr, true);
  const bool backward = !p.small && heads.head_dim == 64;
  const Result by_row = run_on(p.cuda, in, decoded, backward);
  compare(p, shape + " by row", by_row, want_kept, nullptr, backward && !tensor);
  if (p.bf16) compare(p, shape + " by row, exact keys", by_row, want, &plain, backward);
}

// One sequence longer than a decoding row's part.
void attend_long(Parity& p, vf::Heads heads, int tokens) {
  int next = 0;
  const std::vector<Family> forest = {{{-1, take(next, tokens)}, {0, take(next, 1)}}};
  const Inputs in(heads, next, 33);
  const Layout packed(forest, next, false, 7);
  const Result want = run_on(p.cpu, in, packed, false), got = run_on(p.cuda, in, packed, false);
  const Result plain = plain_loop(in, forest);
  compare(p, shape_of(next, heads.q_heads, heads.kv_heads, heads.head_dim), got, want,
          p.bf16 && heads.head_dim == 64 ? &plain : nullptr, false);
}

}  // namespace

void parity_attention(Parity& p) {
  attend(p, {2, 1, 64});
  if (p.small) {
    if (p.bf16) attend(p, {2, 1, 128});
    return attend(p, {2, 2, 24});
  }
  attend(p, {1, 1, 2});
  attend(p, {4, 4, 24});
  attend(p, {4, 1, 64});
  attend(p, {7, 1, 64});
  attend(p, {4, 2, 128});
  attend(p, {7, 1, 128});
  attend(p, {9, 1, 32});
  attend(p, {2, 1, 256});
  attend_long(p, {2, 1, 64}, 700);
}

}  // namespace vf_test
