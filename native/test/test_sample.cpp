// Sampling: arg max, inverse CDF, cuts, and that a row's draw depends on nothing but the row.
#include <algorithm>

#include "guarded.h"

using namespace vf_test;

namespace {

struct Draw {
  std::vector<int32_t> ids;
  std::vector<float> logprob;
};

Draw draw(vf::Ops& ops, const Floats& logits, int64_t rows, const std::vector<double>& uniform, float temperature,
          float top_p = 1, int32_t top_k = 0) {
  Draw d{std::vector<int32_t>(rows), std::vector<float>(rows)};
  ops.sample({rows, static_cast<int64_t>(logits.size()) / rows, logits.data(), uniform.data(), temperature, top_p,
              top_k, d.ids.data(), d.logprob.data()});
  return d;
}

std::vector<double> softmax(const float* logits, int64_t vocab, double temperature) {
  std::vector<double> p(vocab);
  double largest = -INFINITY, sum = 0;
  for (int64_t v = 0; v < vocab; v++) largest = std::fmax(largest, logits[v]);
  for (int64_t v = 0; v < vocab; v++) sum += p[v] = std::exp((logits[v] - largest) / temperature);
  for (double& x : p) x /= sum;
  return p;
}

void test_greedy(const Backend& backend) {
  vf::Ops& ops = *backend.ops;
  Floats logits(2 * 40);
  logits.fill(-1);
  logits[33] = logits[17] = 2;
  logits[40 + 39] = -0.5f;
  for (const float temperature : {0.0f, 1e-7f, 1e-6f}) {
    const Draw d = draw(ops, logits, 2, {0.99, 0.99}, temperature);
    check(d.ids[0] == 17 && d.ids[1] == 39, "the largest logit wins, the lowest id among equals");
    check_close(std::fabs(d.logprob[0] - std::log(softmax(logits.data(), 40, 1)[17])), 1e-6, "log-prob at T = 1");
  }
  logits[17] = logits[3] = NAN;
  const Draw d = draw(ops, logits, 2, {0.5, 0.5}, 0);
  check(d.ids[0] == 33 && std::isnan(d.logprob[0]) && !std::isnan(d.logprob[1]),
        "a NaN is passed over but stays visible");
  passed((backend.name + ": temperature 0 takes the largest logit, the lowest id on ties, log-prob at T = 1").c_str());
}

void test_inverse_cdf(std::vector<Backend>& backends) {
  const int64_t rows = 64, vocab = 5003;
  check(vocab > 2 * vf::vocab_chunk, "the vocabulary no longer crosses two chunks");
  Numbers numbers(4);
  Floats logits(rows * vocab);
  numbers.fill(logits, 2);
  std::vector<double> uniform(rows);
  for (double& u : uniform) u = numbers.unit();
  const Draw all = draw(*backends[0].ops, logits, rows, uniform, 0.8f);
  for (int64_t r = 0; r < rows; r++) {
    const std::vector<double> p = softmax(logits.data() + r * vocab, vocab, 0.8f);
    double below = 0;
    for (int32_t v = 0; v < all.ids[r]; v++) below += p[v];
    check(uniform[r] > below - 1e-6 && uniform[r] < below + p[all.ids[r]] + 1e-6,
          "the token's share of the CDF holds the uniform number");
    check_close(std::fabs(all.logprob[r] - std::log(p[all.ids[r]])), 2e-6, "log-prob of the drawn token");
  }
  for (Backend& b : backends) {
    if (!b.fused) continue;
    const Draw same = draw(*b.ops, logits, rows, uniform, 0.8f);
    check(same.ids == all.ids && std::memcmp(same.logprob.data(), all.logprob.data(), rows * 4) == 0,
          b.name + " draws other bits");
    for (int64_t r = 0; r < rows; r++) {
      // top_p as a plain sort has it: the drawn token is among the kept ones
      const Draw p90 = draw(*b.ops, logits, rows, uniform, 0.8f, 0.9f);
      std::vector<double> p = softmax(logits.data() + r * vocab, vocab, 0.8f);
      double above = 0;
      for (const double x : p) above += x > p[p90.ids[r]] ? x : 0;
      check(above < 0.9 + 1e-6, "top_p keeps the largest that reach 0.9");
      if (r == 8) break;
    }
    const Draw cut = draw(*b.ops, logits, rows, uniform, 0.8f, 0.9f, 50),
               first = draw(*backends[0].ops, logits, rows, uniform, 0.8f, 0.9f, 50);
    check(cut.ids == first.ids && std::memcmp(cut.logprob.data(), first.logprob.data(), rows * 4) == 0,
          b.name + " draws other bits under cuts");
    for (int64_t r = 0; r < rows; r += 9) {
      Floats row(vocab);
      std::memcpy(row.data(), logits.data() + r * vocab, vocab * 4);
      const Draw alone = draw(*b.ops, row, 1, {uniform[r]}, 0.8f);
      check(alone.ids[0] == all.ids[r] && std::memcmp(alone.logprob.data(), &all.logprob[r], 4) == 0,
            "a row alone draws the same");
    }
  }
  passed("inverse-CDF draws fit the double softmax and are the same alone, in a batch, for threads and AVX2");
}

void test_shares(const Backend& backend) {
  vf::Ops& ops = *backend.ops;
  const int64_t vocab = 5, rows = 4000;
  Floats logits(rows * vocab);
  const float p[] = {0.5f, 0.25f, 0.125f, 0.125f, 0};
  std::vector<double> uniform(rows);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t v = 0; v < vocab; v++) logits[r * vocab + v] = std::log(p[v]);
    uniform[r] = (r + 0.5) / rows;
  }
  const auto counts = [&](float top_p, int32_t top_k) {
    const Draw d = draw(ops, logits, rows, uniform, 1, top_p, top_k);
    std::vector<int> n(vocab);
    for (int64_t r = 0; r < rows; r++) {
      n[d.ids[r]]++;
      check_close(std::fabs(d.logprob[r] - std::log(p[d.ids[r]])), 1e-6, "log-probs are those of the uncut softmax");
    }
    return n;
  };
  check(counts(1, 0) == std::vector<int>({2000, 1000, 500, 500, 0}), "shares without a cut");
  check(counts(1, 4) == std::vector<int>({2000, 1000, 500, 500, 0}), "top_k of all that can be drawn");
  check(counts(1, 1) == std::vector<int>({4000, 0, 0, 0, 0}), "top_k 1");
  const std::vector<int> three = counts(1, 3);
  check(std::abs(three[0] - 2286) <= 1 && std::abs(three[1] - 1143) <= 1 && std::abs(three[2] - 571) <= 1 &&
            three[3] == 0,
        "top_k 3: lowest id among equals");
  check(counts(0.7f, 0) == std::vector<int>({2667, 1333, 0, 0, 0}), "top_p keeps the fewest that reach it");
  check(counts(0.01f, 0) == std::vector<int>({4000, 0, 0, 0, 0}), "top_p always keeps the largest");
  check(counts(0, 0) == std::vector<int>({4000, 0, 0, 0, 0}), "top_p 0 keeps the largest");
  check(counts(0.6f, 2) == std::vector<int>({4000, 0, 0, 0, 0}), "top_p is of what top_k has left");
  passed((backend.name + ": top_k and top_p keep what they say, log-probs are those of the uncut softmax").c_str());
}

void test_borders(const Backend& backend) {
  vf::Ops& ops = *backend.ops;
  // tokens of probability 0 at both ends, over three chunks; uniform numbers next to 0 and 1
  const int64_t vocab = 6000;
  for (const double u : {0.0, 1e-300, 0.5, 1 - 0x1p-53, 1.0}) {
    Floats logits(vocab);
    logits.fill(-INFINITY);
    logits[2500] = 1;
    logits[2503] = 1;
    logits[5000] = -500;
    for (const float top_p : {1.0f, 0.9999f}) {
      const Draw d = draw(ops, logits, 1, {u}, 1, top_p);
      check(d.ids[0] == 2500 || d.ids[0] == 2503, "a token of probability 0 is never drawn");
      check_close(std::fabs(d.logprob[0] - std::log(0.5)), 1e-6, "log-prob among -inf");
    }
  }
  Floats broken(vocab);
  broken.fill(NAN);
  for (const float temperature : {0.0f, 1.0f}) {
    const Draw d = draw(ops, broken, 1, {0.5}, temperature);
    check(d.ids[0] >= 0 && d.ids[0] < vocab && std::isnan(d.logprob[0]), "a row of NaNs gives a valid id and a NaN");
  }
  passed((backend.name + ": a token of probability 0 is never drawn, at u = 0 and 1 too").c_str());
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_inverse_cdf(backends);
  for (const Backend& b : backends) {
    test_greedy(b);
    test_shares(b);
    test_borders(b);
  }
  return 0;
}
