// Log-probs under the LM head, and the clipped policy objective with its gradient, a chunk of rows at a time: logits
// of the chunk, log-sum-exp, the token's loss, the gradient of the logits in their place, and the two products that
// carry it on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu_ops.h"
#include "row_logprob.h"

namespace vf {

namespace {

constexpr int64_t chunk_bytes = 32 << 20;

int64_t chunk_rows(int64_t vocab) {
  const int64_t fit = chunk_bytes / (vocab * static_cast<int64_t>(sizeof(float)));
  return std::max<int64_t>(1, fit / logprob_rows) * logprob_rows;
}

struct Logits {
  float* data;
  std::vector<double> lse;
};

// logits[i] = x[i] head^T and their log-sum-exp at the temperature, for rows of one chunk.
void logits_of(CpuContext& context, const float* x, const float* head, int64_t rows, int64_t hidden, int64_t vocab,
               float scale, Logits& logits) {
  cpu_matmul(context, {rows, vocab, hidden, x, head, nullptr, logits.data, false});
  context.pool.parallel_for(
      rows, [&](int64_t i, int) { logits.lse[i] = row_lse(context.k.rows, logits.data + i * vocab, vocab, scale); });
}

double bounded_exp(double x) { return exp_double(x > 20 ? 20.0 : x < -20 ? -20.0 : x); }

// d loss / d logprob of row i, and what the statistics learn from it. A comparison with a NaN is false, so every
// selection below keeps the NaN.
double token_loss(const LogprobLossArgs& a, int64_t i, TokenStats& stats) {
  const double logprob = a.logprob[i], weight = a.weight[i];
  double w = weight, ratio = 1;
  if (a.old_logprob) {
    const double difference = logprob - a.old_logprob[i];
    const double distance = std::fabs(difference);
    stats.mismatch_sum += distance;
    if (!(distance <= stats.mismatch_max)) stats.mismatch_max = distance;
    if (!a.on_policy) {
      ratio = bounded_exp(difference);
    } else if (a.tis_cap > 0) {
      const double r = bounded_exp(difference), cap = a.tis_cap;
      w *= r > cap ? cap : r;
    }
  }
  if (ratio > stats.ratio_max || ratio != ratio) stats.ratio_max = ratio;
  if (ratio < stats.ratio_min || ratio != ratio) stats.ratio_min = ratio;

  double clipped_ratio = ratio;
  const double low = 1.0 - a.clip_low, high = 1.0 + a.clip_high;
  if (a.clip_low >= 0 && ratio < low) clipped_ratio = low;
  if (a.clip_high >= 0 && ratio > high) clipped_ratio = high;
  double surrogate = ratio * w, slope = ratio * w;
  bool clipped = false;
  if (clipped_ratio * w < surrogate) {
    surrogate = clipped_ratio * w;
    clipped = true;
  }
  if (w < 0 && a.dual_clip > 0 && surrogate < a.dual_clip * w) {
    surrogate = a.dual_clip * w;
    clipped = true;
  }
  if (clipped) {
    slope = 0;
    stats.clipped += 1;
  }
  stats.weighted_logprob += weight * logprob;
  stats.surrogate += surrogate;

  double gradient = -slope;
  if (a.ref_logprob) {
    const double d = a.ref_logprob[i] - logprob, bounded = d > 20 ? 20.0 : d < -20 ? -20.0 : d;
    const double e = exp_double(bounded), k3 = e - bounded - 1;
    stats.kl_unweighted += k3;
    if (a.kl_weight && a.kl_weight[i] != 0) {
      stats.kl += a.kl_weight[i] * k3;
      gradient += a.kl_weight[i] * (1 - e);
    }
  }
  return gradient;
}

// logits[v] becomes d loss / d logits[v] = coefficient * scale * ([v == target] - p_v).
void logits_gradient(const RowKernels& k, float* logits, int64_t vocab, float scale, double lse, double coefficient,
                     int32_t target) {
  const float c = static_cast<float>(coefficient * scale);
  if (c == 0) {
    std::fill(logits, logits + vocab, 0.0f);
    return;
  }
  k.probability_gradient(logits, vocab, scale, lse, c);
  logits[target] += c;
}

}  // namespace

void cpu_logprob(CpuContext& context, const LogprobArgs& a) {
  const int64_t chunk = std::min(chunk_rows(a.vocab), a.rows);
  Logits logits = {context.scratch.floats(Scratch::logits, chunk * a.vocab), std::vector<double>(chunk)};
  const RowKernels& k = context.k.rows;
  for (int64_t begin = 0; begin < a.rows; begin += chunk) {
    const int64_t rows = std::min(chunk, a.rows - begin);
    logits_of(context, a.x + begin * a.hidden, a.head, rows, a.hidden, a.vocab, a.inv_temperature, logits);
    context.pool.parallel_for(rows, [&](int64_t i, int) {
      const float* row = logits.data + i * a.vocab;
      a.logprob[begin + i] = row_logprob(row[a.targets[begin + i]], a.inv_temperature, logits.lse[i]);
      if (!a.entropy) return;
      double entropy = 0;
      for (int64_t v = 0; v < a.vocab; v += vocab_chunk)
        entropy +=
            k.chunk_entropy(row + v, std::min<int64_t>(vocab_chunk, a.vocab - v), a.inv_temperature, logits.lse[i]);
      a.entropy[begin + i] = static_cast<float>(entropy);
    });
  }
}

void cpu_logprob_loss(CpuContext& context, const LogprobLossArgs& a) {
  const int64_t chunk = std::min(chunk_rows(a.vocab), a.rows);
  Logits logits = {context.scratch.floats(Scratch::logits, chunk * a.vocab), std::vector<double>(chunk)};
  std::vector<double> gradient(chunk);
  TokenStats& stats = *a.stats;
  for (int64_t begin = 0; begin < a.rows; begin += chunk) {
    const int64_t rows = std::min(chunk, a.rows - begin);
    logits_of(context, a.x + begin * a.hidden, a.head, rows, a.hidden, a.vocab, a.inv_temperature, logits);
    for (int64_t i = 0; i < rows; i++) {
      a.logprob[begin + i] =
          row_logprob(logits.data[i * a.vocab + a.targets[begin + i]], a.inv_temperature, logits.lse[i]);
      gradient[i] = token_loss(a, begin + i, stats);
      if (stats.first_nonfinite < 0 && !(std::isfinite(a.logprob[begin + i]) && std::isfinite(gradient[i])))
        stats.first_nonfinite = stats.rows;
      stats.rows++;
    }
    context.pool.parallel_for(rows, [&](int64_t i, int) {
      logits_gradient(context.k.rows, logits.data + i * a.vocab, a.vocab, a.inv_temperature, logits.lse[i], gradient[i],
                      a.targets[begin + i]);
    });
    cpu_matmul_input_grad(context, {rows, a.vocab, a.hidden, logits.data, a.head, a.dx + begin * a.hidden, false});
    cpu_matmul_weight_grad(context, {rows, a.vocab, a.hidden, logits.data, a.x + begin * a.hidden, a.dhead, nullptr});
  }
}

}  // namespace vf
