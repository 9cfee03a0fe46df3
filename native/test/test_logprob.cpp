// The LM head's log-probs and the clipped objective against double loops and finite differences, and their bits.
#include "guarded.h"

using namespace vf_test;

namespace {

struct Case {
  int64_t rows, hidden, vocab;
  Floats x, head;
  Ints targets;
  Case(int64_t r, int64_t h, int64_t v, uint64_t seed, float size)
      : rows(r), hidden(h), vocab(v), x(r * h), head(v * h), targets(r) {
    Numbers numbers(seed);
    numbers.fill(x, size);
    numbers.fill(head, size);
    for (int64_t i = 0; i < r; i++) targets[i] = static_cast<int32_t>(numbers.next() % v);
    targets[0] = static_cast<int32_t>(v - 1);
  }
};

struct Truth {
  std::vector<double> logprob, entropy;
};

Truth truth_of(const Case& c, const std::vector<double>& x, const std::vector<double>& head, double inv_temperature) {
  Truth t;
  for (int64_t i = 0; i < c.rows; i++) {
    std::vector<double> z(c.vocab);
    double largest = -INFINITY, sum = 0, entropy = 0;
    for (int64_t v = 0; v < c.vocab; v++) {
      for (int64_t k = 0; k < c.hidden; k++) z[v] += x[i * c.hidden + k] * head[v * c.hidden + k];
      z[v] *= inv_temperature;
      largest = std::fmax(largest, z[v]);
    }
    for (const double value : z) sum += std::exp(value - largest);
    const double lse = largest + std::log(sum);
    for (const double value : z) entropy -= std::exp(value - lse) * (value - lse);
    t.logprob.push_back(z[c.targets[i]] - lse);
    t.entropy.push_back(entropy);
  }
  return t;
}
std::vector<double> widened(const Floats& x) { return std::vector<double>(x.data(), x.data() + x.size()); }

void test_forward(std::vector<Backend>& backends) {
  // over two vocabulary chunks; more rows than one row chunk at 200,000 tokens
  const Case cases[] = {{1, 8, 3, 1, 1}, {37, 70, 5000, 2, 0.5f}, {100, 30, 4097, 3, 0.7f}, {45, 12, 200000, 4, 0.8f}};
  for (const Case& c : cases) {
    const Truth truth = truth_of(c, widened(c.x), widened(c.head), 1 / 0.7f);
    Floats first(c.rows), first_entropy(c.rows);
    for (Backend& b : backends) {
      b.ops->weights_changed();
      Floats lp(c.rows), entropy(c.rows);
      b.ops->logprob({c.rows, c.hidden, c.vocab, c.x.data(), c.head.data(), c.targets.data(), 1 / 0.7f, lp.data(),
                      entropy.data()});
      check_close(nmse(lp, truth.logprob), 1e-10, b.name + " logprob");
      check_close(nmse(entropy, truth.entropy), 1e-10, b.name + " entropy");
      check(lp.intact() && entropy.intact(), b.name + " logprob writes outside its output");
      for (int64_t i = 0; i < c.rows; i++) check(lp[i] <= 0, "a log-prob is above 0");
      if (&b == &backends[0]) {
        std::memcpy(first.data(), lp.data(), c.rows * 4);
        std::memcpy(first_entropy.data(), entropy.data(), c.rows * 4);
      } else if (b.fused) {
        check(first.same_bits(lp) && first_entropy.same_bits(entropy), b.name + " logprob has other bits");
      }
      // the sampler's row of the same logits, and the same row alone
      Floats logits(c.rows * c.vocab), sampled(c.rows), alone(1);
      b.ops->matmul({c.rows, c.vocab, c.hidden, c.x.data(), c.head.data(), nullptr, logits.data(), false});
      std::vector<double> uniform(c.rows);
      Numbers numbers(9);
      for (double& u : uniform) u = numbers.unit();
      Ints ids(c.rows);
      b.ops->sample({c.rows, c.vocab, logits.data(), uniform.data(), 0.7f, 1, 0, ids.data(), sampled.data()});
      Floats again(c.rows);
      b.ops->logprob(
          {c.rows, c.hidden, c.vocab, c.x.data(), c.head.data(), ids.data(), 1 / 0.7f, again.data(), nullptr});
      check(again.same_bits(sampled), b.name + ": the sampler's log-probs have other bits than the training pass");
      const int64_t last = c.rows - 1;
      b.ops->logprob({1, c.hidden, c.vocab, c.x.data() + last * c.hidden, c.head.data(), ids.data() + last, 1 / 0.7f,
                      alone.data(), nullptr});
      check(std::memcmp(&alone[0], &again[last], 4) == 0, b.name + ": a row's log-prob has other bits alone");
    }
  }
  passed("logprob equals the double loop; the sampler, the training pass, a row alone, threads and AVX2 have its bits");
}

struct Objective {
  const char* name;
  bool old, on_policy, ref;
  float clip_low, clip_high, dual_clip, tis_cap;
};

// One row's loss in double, written from the formulas; `now` is where a detached factor is taken.
double row_loss(const Objective& o, double lp, double now, double weight, double old, double ref, double kl_weight) {
  double s;
  if (o.old && !o.on_policy) {
    const double r = std::exp(lp - old);
    const double low = o.clip_low >= 0 ? 1 - double(o.clip_low) : -INFINITY,
                 high = o.clip_high >= 0 ? 1 + double(o.clip_high) : INFINITY;
    s = std::fmin(r * weight, std::fmin(std::fmax(r, low), high) * weight);
    if (weight < 0 && o.dual_clip > 0) s = std::fmax(s, o.dual_clip * weight);
  } else {
    const double tis = o.old && o.tis_cap > 0 ? std::fmin(std::exp(now - old), o.tis_cap) : 1;
    s = tis * weight * lp;  // the gradient of r w at r = 1
  }
  const double d = ref - lp;
  return -s + (o.ref ? kl_weight * (std::exp(d) - d - 1) : 0);
}

void test_gradient(std::vector<Backend>& backends) {
  const Objective objectives[] = {
      {"plain", false, true, false, -1, -1, 0, 0},    {"measured old", true, true, false, 0.2f, 0.2f, 3, 0},
      {"tis", true, true, true, -1, -1, 0, 1.1f},     {"ratio without clip", true, false, false, -1, -1, 0, 0},
      {"clip", true, false, true, 0.2f, 0.28f, 0, 0}, {"dual clip", true, false, true, 0.2f, 0.2f, 1.3f, 0},
  };
  const float inv_temperature = 1 / 0.8f;
  for (const Objective& o : objectives) {
    Case c(9, 7, 45, 21, 0.9f);
    Numbers numbers(5);
    Floats weight(c.rows), old(c.rows), ref(c.rows), kl_weight(c.rows);
    const Truth start = truth_of(c, widened(c.x), widened(c.head), inv_temperature);
    for (int64_t i = 0; i < c.rows; i++) {
      weight[i] = i == 3 ? 0 : (i % 2 ? -1.0f : 1.0f) * static_cast<float>(0.2 + numbers.unit());
      old[i] = static_cast<float>(start.logprob[i] + 0.9 * (numbers.unit() - 0.5));
      ref[i] = static_cast<float>(start.logprob[i] + 0.9 * (numbers.unit() - 0.5));
      kl_weight[i] = i == 4 ? 0 : 0.3f;
    }
    const auto loss = [&](const std::vector<double>& x, const std::vector<double>& head) {
      const Truth t = truth_of(c, x, head, inv_temperature);
      double sum = 0;
      for (int64_t i = 0; i < c.rows; i++)
        sum += row_loss(o, t.logprob[i], start.logprob[i], weight[i], old[i], ref[i], kl_weight[i]);
      return sum;
    };
    const auto differences = [&](std::vector<double> x, std::vector<double> head, bool of_head) {
      std::vector<double>& p = of_head ? head : x;
      std::vector<double> g(p.size());
      for (size_t i = 0; i < p.size(); i++) {
        const double at = p[i], h = 1e-5;
        p[i] = at + h;
        const double up = loss(x, head);
        p[i] = at - h;
        g[i] = (up - loss(x, head)) / (2 * h);
        p[i] = at;
      }
      return g;
    };
    const std::vector<double> dx = differences(widened(c.x), widened(c.head), false);
    const std::vector<double> dhead = differences(widened(c.x), widened(c.head), true);
    Floats bits_x(c.x), bits_head(c.head);
    for (Backend& b : backends) {
      b.ops->weights_changed();
      Floats gx(c.x.size()), gh(c.head.size()), lp(c.rows), forward(c.rows);
      gh.fill(0.25f);
      vf::TokenStats stats;
      b.ops->logprob_loss({c.rows,
                           c.hidden,
                           c.vocab,
                           c.x.data(),
                           c.head.data(),
                           c.targets.data(),
                           inv_temperature,
                           weight.data(),
                           o.old ? old.data() : nullptr,
                           o.on_policy,
                           o.ref ? ref.data() : nullptr,
                           o.ref ? kl_weight.data() : nullptr,
                           o.clip_low,
                           o.clip_high,
                           o.dual_clip,
                           o.tis_cap,
                           lp.data(),
                           gx.data(),
                           gh.data(),
                           &stats});
      for (size_t i = 0; i < gh.size(); i++) gh[i] -= 0.25f;
      check_close(nmse(gx, dx), 1e-10, b.name + " dx, " + o.name);
      check_close(nmse(gh, dhead), 1e-10, b.name + " dhead, " + o.name);
      check(gx.intact() && gh.intact() && lp.intact(), b.name + " logprob_loss writes outside its output");
      b.ops->logprob({c.rows, c.hidden, c.vocab, c.x.data(), c.head.data(), c.targets.data(), inv_temperature,
                      forward.data(), nullptr});
      check(forward.same_bits(lp), "logprob_loss and logprob have the same bits");
      check(stats.rows == 9 && stats.first_nonfinite == -1, "rows are counted");
      if (o.on_policy)
        check(stats.ratio_max == 1 && stats.ratio_min == 1 && stats.clipped == 0, "the ratio is 1 by definition");
      if (o.old)
        check(stats.mismatch_max > 0.1 && stats.mismatch_sum >= stats.mismatch_max, "the mismatch is measured");
      if (&b == &backends[0]) {
        std::memcpy(bits_x.data(), gx.data(), gx.size() * 4);
        std::memcpy(bits_head.data(), gh.data(), gh.size() * 4);
      } else if (b.fused) {
        check(bits_x.same_bits(gx) && bits_head.same_bits(gh), b.name + " logprob_loss has other bits");
      }
    }
  }
  passed("logprob_loss has the gradient of the objective by finite differences, with and without clips, KL and TIS");
}

void test_large_bits(std::vector<Backend>& backends) {
  Case c(95, 20, 100003, 8, 0.8f);  // three row chunks
  Floats weight(c.rows), bits_x(c.x), bits_head(c.head);
  Numbers numbers(2);
  numbers.fill(weight);
  for (Backend& b : backends) {
    if (!b.fused) continue;
    b.ops->weights_changed();
    Floats gx(c.x.size()), gh(c.head.size()), lp(c.rows);
    gh.fill(0);
    vf::TokenStats stats;
    b.ops->logprob_loss({c.rows,
                         c.hidden,
                         c.vocab,
                         c.x.data(),
                         c.head.data(),
                         c.targets.data(),
                         1,
                         weight.data(),
                         nullptr,
                         true,
                         nullptr,
                         nullptr,
                         -1,
                         -1,
                         0,
                         0,
                         lp.data(),
                         gx.data(),
                         gh.data(),
                         &stats});
    if (&b == &backends[0]) {
      std::memcpy(bits_x.data(), gx.data(), gx.size() * 4);
      std::memcpy(bits_head.data(), gh.data(), gh.size() * 4);
    }
    check(bits_x.same_bits(gx) && bits_head.same_bits(gh), b.name + " logprob_loss over several chunks has other bits");
  }
  passed("logprob_loss over several row chunks has the same bits for threads 1 and 2, AVX2 and AVX-512");
}

void test_stats() {
  // two tokens, logits 0 and 0: log-prob -0.6931 for either
  const auto ops = vf::make_cpu_backend({});
  Floats x(4), head(2), weight(4), old(4), ref(4), kl(4), lp(4), dx(4), dhead(2);
  Ints targets(4);
  x.fill(1);
  head.fill(0);
  dhead.fill(0);
  targets.fill(0);
  const float half = std::log(0.5f);
  const float olds[] = {half, half - std::log(1.5f), half + std::log(2.0f), half - std::log(4.0f)},
              weights[] = {1, 1, -1, -1};
  for (int i = 0; i < 4; i++) {
    weight[i] = weights[i];
    old[i] = olds[i];
    ref[i] = half + 1;
    kl[i] = i == 0 ? 0.5f : 0;
  }
  vf::TokenStats s;
  ops->logprob_loss({4,
                     1,
                     2,
                     x.data(),
                     head.data(),
                     targets.data(),
                     1,
                     weight.data(),
                     old.data(),
                     false,
                     ref.data(),
                     kl.data(),
                     0.2f,
                     0.2f,
                     3,
                     0,
                     lp.data(),
                     dx.data(),
                     dhead.data(),
                     &s});
  // ratios 1, 1.5, 0.5, 4 -> s = 1, 1.2, -0.8, max(-4, -3)
  check_close(std::fabs(s.surrogate - (1 + 1.2 - 0.8 - 3)), 1e-6, "surrogate");
  check(s.clipped == 3, "three rows are clipped");
  check_close(std::fabs(s.ratio_max - 4), 1e-6, "largest ratio");
  check_close(std::fabs(s.ratio_min - 0.5), 1e-6, "smallest ratio");
  check_close(std::fabs(s.kl_unweighted - 4 * (std::exp(1.0) - 2)), 1e-5, "k3");
  check_close(std::fabs(s.kl - 0.5 * (std::exp(1.0) - 2)), 1e-6, "weighted k3");
  check_close(std::fabs(s.mismatch_max - std::log(4.0)), 1e-6, "largest mismatch");
  check_close(std::fabs(s.mismatch_sum - std::log(1.5 * 2 * 4)), 1e-6, "sum of mismatches");
  check(s.weighted_logprob == 0, "weighted log-probs cancel");
  passed("the statistics of four rows are the numbers worked out by hand");
}

void test_extremes(std::vector<Backend>& backends) {
  for (Backend& b : backends) {
    Case c(6, 4, 3000, 31, 1);
    Floats weight(c.rows), lp(c.rows), dx(c.x.size()), dhead(c.head.size()), clean_lp(c.rows), clean_dx(c.x.size());
    weight.fill(1);
    // token 7 stands out by some 4000: its probability is 1
    for (int k = 0; k < 4; k++) c.head[7 * 4 + k] = 1000 * c.x[0 * 4 + k];
    c.targets[0] = 7;
    const auto run = [&](Floats& l, Floats& d, vf::TokenStats& stats) {
      b.ops->weights_changed();
      dhead.fill(0);
      b.ops->logprob_loss({c.rows,
                           c.hidden,
                           c.vocab,
                           c.x.data(),
                           c.head.data(),
                           c.targets.data(),
                           1,
                           weight.data(),
                           nullptr,
                           true,
                           nullptr,
                           nullptr,
                           -1,
                           -1,
                           0,
                           0,
                           l.data(),
                           d.data(),
                           dhead.data(),
                           &stats});
    };
    vf::TokenStats clean, broken;
    run(clean_lp, clean_dx, clean);
    check(clean_lp[0] == 0 && clean.first_nonfinite == -1, "a certain token has log-prob 0");
    for (int64_t i = 0; i < c.rows; i++) check(clean_lp[i] <= 0, "no log-prob is above 0");
    c.x[3 * 4 + 1] = NAN;
    run(lp, dx, broken);
    check(std::isnan(lp[3]) && broken.first_nonfinite == 3, "a NaN stays visible and its row is named");
    for (int64_t i = 0; i < c.rows; i++)
      if (i != 3)
        check(std::memcmp(&lp[i], &clean_lp[i], 4) == 0 && std::memcmp(&dx[i * 4], &clean_dx[i * 4], 16) == 0,
              "a NaN row leaves the others' bits alone");
    check(std::isnan(dhead[0]), "a NaN reaches the head's gradient");
  }
  passed("a certain token has log-prob 0 and a NaN names its row and leaves the others alone");
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_forward(backends);
  test_gradient(backends);
  test_large_bits(backends);
  test_stats();
  test_extremes(backends);
  return 0;
}
