// Parity of the LM head's log-probs and the fused objective: gradient, statistics, several row chunks and vocabulary
// chunks, a vocabulary that is no multiple of a tile.
#include "cuda_parity.h"

namespace vf_test {

namespace {

struct Case {
  int64_t rows, hidden, vocab;
  Floats x, head, weight, old, ref, kl;
  Ints targets;
  Case(int64_t r, int64_t h, int64_t v, uint64_t seed)
      : rows(r), hidden(h), vocab(v), x(r * h), head(v * h), weight(r), old(r), ref(r), kl(r), targets(r) {
    Numbers n(seed);
    n.fill(x);
    n.fill(head, 0.4f);
    n.fill(weight);
    for (int64_t i = 0; i < r; i++) {
      targets[i] = static_cast<int32_t>(n.next() % v);
      kl[i] = i % 3 == 0 ? 0 : 0.1f;
    }
    targets[0] = static_cast<int32_t>(v - 1);
    weight[r / 2] = 0;
  }
};

struct Outputs {
  Floats logprob, entropy, loss_logprob, dx, dhead;
  vf::TokenStats stats;
};

Outputs run_on(vf::Ops& ops, const Case& c, bool on_policy) {
  DeviceFloats x(ops, c.x), head(ops, c.head), weight(ops, c.weight), old(ops, c.old), ref(ops, c.ref), kl(ops, c.kl);
  Floats start(c.head.size());
  start.fill(0.25f);
  DeviceFloats logprob(ops, Floats(c.rows)), entropy(ops, Floats(c.rows)), again(ops, Floats(c.rows)),
      dx(ops, Floats(c.x.size())), dhead(ops, start);
  DeviceInts targets(ops, c.targets);
  ops.weights_changed();
  ops.logprob(
      {c.rows, c.hidden, c.vocab, x.data(), head.data(), targets.data(), 1.25f, logprob.data(), entropy.data()});
  Outputs o{logprob.fetch("logprob"), entropy.fetch("logprob"), Floats(0), Floats(0), Floats(0), {}};
  vf::TokenStats stats;
  ops.logprob_loss({c.rows,
                    c.hidden,
                    c.vocab,
                    x.data(),
                    head.data(),
                    targets.data(),
                    1.25f,
                    weight.data(),
                    old.data(),
                    on_policy,
                    ref.data(),
                    kl.data(),
                    0.2f,
                    0.28f,
                    on_policy ? 0.0f : 3.0f,
                    on_policy ? 1.5f : 0.0f,
                    again.data(),
                    dx.data(),
                    dhead.data(),
                    &stats});
  return {o.logprob, o.entropy, again.fetch("logprob_loss"), dx.fetch("logprob_loss"), dhead.fetch("logprob_loss"),
          stats};
}

void compare(Parity& p, int64_t rows, int64_t hidden, int64_t vocab, bool on_policy) {
  Case c(rows, hidden, vocab, 77);
  const Outputs first = run_on(p.cpu, c, true);
  Numbers n(6);
  for (int64_t i = 0; i < rows; i++) {
    c.old[i] = first.logprob[i] + static_cast<float>(n.unit() - 0.5);
    c.ref[i] = first.logprob[i] + static_cast<float>(n.unit() - 0.5);
  }
  const Outputs want = run_on(p.cpu, c, on_policy), got = run_on(p.cuda, c, on_policy);
  // the plain bf16 loop: rounded x and head, everything after them in f32 on the CPU
  Case half(c);
  for (size_t i = 0; i < half.x.size(); i++) half.x[i] = rounded(c.x[i]);
  for (size_t i = 0; i < half.head.size(); i++) half.head[i] = rounded(c.head[i]);
  const Outputs plain = run_on(p.cpu, half, on_policy);
  const std::string shape = shape_of(rows, hidden, vocab) + (on_policy ? " on policy" : " clipped");
  p.row("logprob", shape, nmse(got.logprob, want.logprob), nmse(plain.logprob, want.logprob));
  p.row("logprob entropy", shape, nmse(got.entropy, want.entropy), nmse(plain.entropy, want.entropy));
  p.exact("logprob_loss = logprob", shape, got.loss_logprob.same_bits(got.logprob));
  // a ratio near a clip may fall on the other side in bf16, so there the gradient is held to f32 only
  if (!p.bf16 || on_policy) {
    p.row("logprob_loss dx", shape, nmse(got.dx, want.dx), nmse(plain.dx, want.dx));
    p.row("logprob_loss dhead", shape, nmse(got.dhead, want.dhead), nmse(plain.dhead, want.dhead));
  }
  if (!p.bf16) {
    const vf::TokenStats &a = got.stats, &b = want.stats;
    const double pairs[][2] = {{a.weighted_logprob, b.weighted_logprob},
                               {a.surrogate, b.surrogate},
                               {a.kl, b.kl},
                               {a.kl_unweighted, b.kl_unweighted},
                               {a.mismatch_sum, b.mismatch_sum},
                               {a.mismatch_max, b.mismatch_max},
                               {a.ratio_max, b.ratio_max},
                               {a.ratio_min, b.ratio_min}};
    double worst = 0;
    for (const auto& pair : pairs) worst = std::max(worst, std::fabs(pair[0] - pair[1]) / (std::fabs(pair[1]) + 1));
    p.row("logprob_loss stats", shape, worst * worst);
    p.exact("logprob_loss counts", shape,
            a.clipped == b.clipped && a.rows == b.rows && a.first_nonfinite == b.first_nonfinite);
  }
  for (int64_t i = 0; i < rows; i++) check(got.logprob[i] <= 0, "a log-prob is above 0");
}

void keeps_nan(Parity& p) {
  Case c(6, 8, 300, 5);
  c.x[3 * 8 + 1] = NAN;
  c.old.fill(-1);
  c.ref.fill(-1);
  const Outputs o = run_on(p.cuda, c, true);
  p.exact(
      "logprob_loss nan", "6x8x300",
      std::isnan(o.logprob[3]) && o.stats.first_nonfinite == 3 && !std::isnan(o.logprob[2]) && std::isnan(o.dhead[0]));
}

}  // namespace

void parity_logprob(Parity& p) {
  compare(p, 1, 8, 3, true);
  compare(p, 5, 16, 70, false);
  if (p.small) return compare(p, 1, 8, 2100, true);
  compare(p, 37, 40, 4100, true);
  compare(p, 20, 33, 2049, false);
  compare(p, 11, 8, 33000, true);
  keeps_nan(p);
}

}  // namespace vf_test
