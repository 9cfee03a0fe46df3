// attention and attention_backward: against double loops and finite differences, and bit for bit between packed,
// alone, shared prefix, one row at a time, thread counts and instruction sets.
#include "../cpu/attention.h"
#include "attention_case.h"

using namespace vf_test;

namespace {

struct Case {
  Inputs in;
  std::vector<Family> forest;
};

std::vector<int> take(int& next, int count) {
  std::vector<int> list(count);
  for (int& x : list) x = next++;
  return list;
}

// Two families. The first is prompt -> traces -> answers, three levels deep; no length is a multiple of the block.
Case make_case(int q_heads, int kv_heads, int head_dim, uint64_t seed) {
  int next = 0;
  Family tree;
  tree.push_back({-1, take(next, 37)});
  tree.push_back({0, take(next, 21)});
  tree.push_back({1, take(next, 5)});
  tree.push_back({1, take(next, 19)});
  tree.push_back({0, take(next, 1)});
  tree.push_back({4, take(next, 3)});
  Family chain;
  chain.push_back({-1, take(next, 53)});
  chain.push_back({0, take(next, 2)});
  return {Inputs({q_heads, kv_heads, head_dim}, next, seed), {tree, chain}};
}

std::string label(const Case& c) {
  return "q_heads " + std::to_string(c.in.heads.q_heads) + " kv_heads " + std::to_string(c.in.heads.kv_heads) +
         " head_dim " + std::to_string(c.in.heads.head_dim);
}

const int shapes[][3] = {{4, 4, 8},   {4, 2, 24},  {8, 4, 32}, {8, 2, 64},  {7, 1, 64},
                         {2, 1, 128}, {14, 2, 80}, {4, 1, 32}, {2, 2, 256}, {3, 1, 2}};

void test_oracle(std::vector<Backend>& backends) {
  for (const auto& s : shapes) {
    Case c = make_case(s[0], s[1], s[2], 1);
    Oracle oracle(c.in, c.forest);
    oracle.backward(c.in.dout);
    for (Backend& backend : backends) {
      const std::string where = label(c) + " on " + backend.name;
      const Result r = run_attention(*backend.ops, c.in, Layout(c.forest, c.in.tokens, false, 5), true);
      check_close(nmse(r.out, oracle.out), 1e-10, "out, " + where);
      check_close(nmse(r.lse, oracle.lse), 1e-10, "lse, " + where);
      check_close(nmse(r.dq, oracle.dq), 1e-10, "dq, " + where);
      check_close(nmse(r.dk, oracle.dk), 1e-10, "dk, " + where);
      check_close(nmse(r.dv, oracle.dv), 1e-10, "dv, " + where);
    }
  }
  passed("attention and its gradient equal double loops");
}

void test_finite_differences(Backend& backend) {
  Case c = make_case(4, 2, 8, 2);
  const Result r = run_attention(*backend.ops, c.in, Layout(c.forest, c.in.tokens, false, 6), true);
  Oracle oracle(c.in, c.forest);
  Numbers numbers(3);
  const double h = 1e-4;
  const auto probe = [&](std::vector<double>& x, const Floats& gradient, const char* name) {
    for (int i = 0; i < 12; i++) {
      const size_t at = numbers.next() % x.size();
      const double kept = x[at];
      x[at] = kept + h;
      const double up = oracle.loss(c.in.dout);
      x[at] = kept - h;
      const double down = oracle.loss(c.in.dout);
      x[at] = kept;
      check_close(std::abs((up - down) / (2 * h) - gradient[at]), 2e-5, std::string(name) + " by finite differences");
    }
  };
  probe(oracle.q, r.dq, "dq");
  probe(oracle.k, r.dk, "dk");
  probe(oracle.v, r.dv, "dv");
  passed("attention_backward equals finite differences");
}

void test_same_bits_by_backend(std::vector<Backend>& backends) {
  for (const auto& s : shapes) {
    Case c = make_case(s[0], s[1], s[2], 4);
    const Layout layout(c.forest, c.in.tokens, false, 7);
    const Result first = run_attention(*backends[0].ops, c.in, layout, true);
    for (size_t i = 1; i < backends.size(); i++) {
      if (!backends[i].fused) continue;
      check(first.same_bits(run_attention(*backends[i].ops, c.in, layout, true)),
            "bits of " + backends[i].name + ", " + label(c));
    }
  }
  passed("attention has the same bits for any thread count and for avx2 and avx512");
}

void test_same_bits_by_packing(std::vector<Backend>& backends) {
  for (Backend& backend : backends) {
    for (const auto& s : shapes) {
      Case c = make_case(s[0], s[1], s[2], 8);
      const Result packed = run_attention(*backend.ops, c.in, Layout(c.forest, c.in.tokens, false, 9), false);
      const Result decoded = run_attention(*backend.ops, c.in, Layout(c.forest, c.in.tokens, true, 10), false);
      check(packed.same_bits(decoded), "one row at a time, " + label(c) + " on " + backend.name);
      const size_t width = size_t(s[0]) * s[2];
      for (const Family& family : c.forest) {
        for (size_t n = 0; n < family.size(); n++) {
          const std::vector<int> path = path_tokens(family, int(n));
          const Result alone = run_attention(*backend.ops, c.in, Layout({{{-1, path}}}, c.in.tokens, false, 11), false);
          for (size_t token : path) {
            check(std::memcmp(alone.out.data() + token * width, packed.out.data() + token * width, width * 4) == 0 &&
                      std::memcmp(alone.lse.data() + token * s[0], packed.lse.data() + token * s[0], s[0] * 4) == 0,
                  "a sequence alone, " + label(c) + " on " + backend.name);
          }
        }
      }
    }
  }
  passed("a row has the same bits packed, alone, under a shared prefix and decoded one at a time");
}

// Longer than a task's rows and the backward's row chunk: the prompt in one run and in runs of odd lengths.
void test_long(std::vector<Backend>& backends) {
  static_assert(700 * 2 > 4 * vf::attention_chunk && 333 * 2 % vf::attention_chunk != 0 && 7 * 2 > vf::attention_tile &&
                    7 * 2 % vf::attention_tile != 0 && 333 > 2 * vf::kv_block && 333 % vf::kv_block != 0,
                "the lengths below no longer cross the kernels' borders");
  int next = 0;
  const Family whole = {{-1, take(next, 700)}};
  next = 0;
  Family parts = {{-1, take(next, 333)}};
  parts.push_back({0, take(next, 7)});
  parts.push_back({1, take(next, 360)});
  Inputs in({4, 2, 32}, next, 12);
  const Result one = run_attention(*backends[0].ops, in, Layout({whole}, next, false, 13), true);
  Oracle oracle(in, {whole});
  oracle.backward(in.dout);
  check_close(nmse(one.out, oracle.out), 1e-10, "out of 700 tokens");
  check_close(nmse(one.dq, oracle.dq), 1e-10, "dq of 700 tokens");
  check_close(nmse(one.dk, oracle.dk), 1e-10, "dk of 700 tokens");
  check_close(nmse(one.dv, oracle.dv), 1e-10, "dv of 700 tokens");
  for (Backend& backend : backends) {
    if (!backend.fused) continue;
    check(one.same_bits(run_attention(*backend.ops, in, Layout({parts}, next, false, 14), true)),
          "700 tokens in parts, gradient included, on " + backend.name);
  }
  passed("a long sequence has the same bits and gradients in one run and in three");
}

// Scores far apart and huge: no overflow, and a NaN stays in the rows that see it.
void test_extremes(Backend& backend) {
  Case c = make_case(2, 1, 16, 15);
  for (size_t i = 0; i < c.in.q.size(); i++) c.in.q[i] *= 40;
  Oracle oracle(c.in, c.forest);
  oracle.backward(c.in.dout);
  const Layout layout(c.forest, c.in.tokens, false, 16);
  const Result r = run_attention(*backend.ops, c.in, layout, true);
  check_close(nmse(r.out, oracle.out), 1e-9, "out of large scores");
  check_close(nmse(r.dk, oracle.dk), 1e-9, "dk of large scores");
  const int bad = 40;  // the fourth token of the first trace
  c.in.v[size_t(bad) * 16] = NAN;
  const Result poisoned = run_attention(*backend.ops, c.in, layout, false);
  for (int t = 0; t < c.in.tokens; t++) {
    bool sees = false;
    for (int other : oracle.seen[t]) sees |= other == bad;
    const float* row = poisoned.out.data() + size_t(t) * 32;
    check(std::isnan(row[0]) == sees, "a NaN value reaches exactly the rows that see it");
    if (sees) continue;
    check(std::memcmp(row, r.out.data() + size_t(t) * 32, 32 * 4) == 0, "rows that do not see a NaN keep their bits");
  }
  c.in.k[size_t(bad) * 16] = NAN;
  const Result scores = run_attention(*backend.ops, c.in, layout, false);
  for (int t = 0; t < c.in.tokens; t++) {
    bool sees = false;
    for (int other : oracle.seen[t]) sees |= other == bad;
    check(std::isnan(scores.out[size_t(t) * 32 + 3]) == sees && std::isnan(scores.lse[size_t(t) * 2]) == sees,
          "a NaN key reaches exactly the rows that see it");
  }
  passed("attention survives large scores and keeps a NaN visible");
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_oracle(backends);
  test_finite_differences(backends[0]);
  test_same_bits_by_backend(backends);
  test_same_bits_by_packing(backends);
  test_long(backends);
  test_extremes(backends[0]);
  return 0;
}
