// Parity of sampling: the same token as the CPU for the same logits and number, greedy, whole, top-k and top-p, with
// ties, -inf and NaN logits; and draws that follow the distribution.
#include "cuda_parity.h"

namespace vf_test {

namespace {

struct Draw {
  Ints ids;
  Floats logprob;
};

Draw run_on(vf::Ops& ops, const Floats& logits, int64_t rows, const std::vector<double>& uniform, float temperature,
            float top_p, int32_t top_k) {
  DeviceFloats l(ops, logits);
  Draw d{Ints(rows), Floats(rows)};
  ops.sample({rows, int64_t(logits.size()) / rows, l.data(), uniform.data(), temperature, top_p, top_k, d.ids.data(),
              d.logprob.data()});
  l.fetch("sample");
  return d;
}

void compare(Parity& p, int64_t rows, int64_t vocab, bool ties) {
  Floats logits(rows * vocab);
  Numbers n(41);
  n.fill(logits, 3);
  if (ties)
    for (size_t i = 0; i < logits.size(); i++) logits[i] = std::round(logits[i]);
  for (int64_t r = 0; r < rows && vocab > 1; r += 3) logits[r * vocab + n.next() % vocab] = -INFINITY;
  std::vector<double> uniform(rows);
  for (double& u : uniform) u = n.unit();
  uniform[0] = 1e-16;
  if (rows > 1) uniform[1] = 1 - 1e-16;
  struct Setting {
    const char* name;
    float temperature, top_p;
    int32_t top_k;
  };
  for (const Setting& s :
       {Setting{"greedy", 0, 1, 0}, Setting{"whole", 0.8f, 1, 0}, Setting{"top_k", 1, 1, 5},
        Setting{"top_p", 1.2f, 0.7f, 0}, Setting{"top_k top_p", 1, 0.9f, 20}, Setting{"top_p tiny", 1, 1e-4f, 0}}) {
    const Draw want = run_on(p.cpu, logits, rows, uniform, s.temperature, s.top_p, s.top_k);
    const Draw got = run_on(p.cuda, logits, rows, uniform, s.temperature, s.top_p, s.top_k);
    const std::string shape = shape_of(rows, vocab) + " " + s.name + (ties ? " ties" : "");
    p.exact("sample ids", shape, got.ids.same_bits(want.ids));
    p.row("sample logprob", shape, nmse(got.logprob, want.logprob));
  }
}

void follows_distribution(Parity& p) {
  const int64_t rows = 600, vocab = 6;
  Floats logits(rows * vocab);
  const double probability[] = {0.5, 0.2, 0.15, 0.1, 0.05, 0};
  for (int64_t i = 0; i < rows * vocab; i++) logits[i] = static_cast<float>(std::log(probability[i % vocab]));
  std::vector<double> uniform(rows);
  for (int64_t i = 0; i < rows; i++) uniform[i] = (i + 0.5) / rows;
  double counts[6] = {};
  const Draw whole = run_on(p.cuda, logits, rows, uniform, 1, 1, 0);
  for (int64_t i = 0; i < rows; i++) counts[whole.ids[i]]++;
  bool close = true;
  for (int v = 0; v < 6; v++) close &= std::fabs(counts[v] - rows * probability[v]) <= 1.01;
  p.exact("sample distribution", "600x6", close);
  const Draw cut = run_on(p.cuda, logits, rows, uniform, 1, 0.6f, 0);
  double first = 0, second = 0;
  for (int64_t i = 0; i < rows; i++) (cut.ids[i] == 0 ? first : second)++;
  p.exact("sample distribution", "600x6 top_p 0.6",
          std::fabs(first - rows * 5 / 7.0) <= 1.01 && second == rows - first);
}

void extremes(Parity& p) {
  Floats logits(3 * 40);
  logits.fill(-INFINITY);
  for (int v = 0; v < 40; v++) logits[40 + v] = NAN;
  logits[80 + 7] = 2;
  const std::vector<double> uniform(3, 0.3);
  const Draw d = run_on(p.cuda, logits, 3, uniform, 1, 1, 0), k = run_on(p.cuda, logits, 3, uniform, 1, 0.5f, 3);
  p.exact("sample extremes", "3x40",
          d.ids[0] == 0 && d.ids[2] == 7 && d.logprob[2] == 0 && std::isnan(d.logprob[1]) && k.ids[2] == 7);
}

}  // namespace

void parity_sample(Parity& p) {
  if (p.bf16) return;  // sampling is the same in both
  compare(p, 1, 1, false);
  compare(p, p.small ? 2 : 40, 33, false);
  if (p.small) return compare(p, 1, 2100, false);
  compare(p, 9, 5000, false);
  compare(p, 5, 2049, true);
  follows_distribution(p);
  extremes(p);
}

}  // namespace vf_test
