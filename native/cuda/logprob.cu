// Log-probs under the LM head, and the clipped policy objective with its gradient, a chunk of rows at a time: logits of
// the chunk, log-sum-exp, the tokens' losses, the gradient in the logits' place (as bf16 where the products are), and
// the two products that carry it on. The extra memory is one chunk of logits, at most 256 MiB.
#include <algorithm>
#include <string>

#include "gemm.h"
#include "row_logprob.cuh"

namespace vf {

namespace {

constexpr int threads = row_logprob_threads;
constexpr int64_t chunk_bytes = int64_t{256} << 20, most_chunk_rows = 1024;
constexpr int stat_count = 8;

// Logits of a row lie `ld` floats apart, so that a row of bf16 gradients can take the place of a row of logits.
int64_t logits_step(int64_t vocab) { return round_up(vocab, 8); }
int64_t chunk_rows(int64_t vocab) {
  const int64_t fit = chunk_bytes / (logits_step(vocab) * static_cast<int64_t>(sizeof(float)));
  return std::min(most_chunk_rows, std::max<int64_t>(8, fit / 8 * 8));
}

// What the kernels hand over: [rows] each.
struct RowResults {
  double *lse, *gradient;
  double* stats;  // [rows, stat_count]
};

__global__ void __launch_bounds__(threads)
    logprob_rows(const float* logits, int64_t step, int64_t vocab, float scale, const int32_t* targets, double* lse_out,
                 float* logprob, float* entropy) {
  __shared__ LogitChunk chunks[most_chunks];
  __shared__ double lse_shared, parts[32];
  const float* row = logits + blockIdx.x * step;
  const double lse = device_lse(row, vocab, scale, chunks, &lse_shared);
  if (threadIdx.x == 0) {
    logprob[blockIdx.x] = device_logprob(row[targets[blockIdx.x]], scale, lse);
    if (lse_out) lse_out[blockIdx.x] = lse;
  }
  if (!entropy) return;
  const float high = static_cast<float>(lse), low = static_cast<float>(lse - high);
  double sum = 0;
  for (int64_t v = threadIdx.x; v < vocab; v += threads) {
    const float t = row[v] * scale - high - low, p = expf(t);
    if (!(p == 0)) sum += static_cast<double>(p * t);
  }
  sum = block_reduce(sum, SumOf(), 0.0, parts);
  if (threadIdx.x == 0) entropy[blockIdx.x] = static_cast<float>(-sum);
}

__device__ double bounded_exp(double x) { return exp(x > 20 ? 20.0 : x < -20 ? -20.0 : x); }

// d loss / d logprob of row i and its terms of the statistics. A comparison with a NaN is false, so every selection
// below keeps the NaN.
__device__ double token_loss(const LogprobLossArgs& a, int64_t i, double (&s)[stat_count]) {
  const double logprob = a.logprob[i], weight = a.weight[i];
  double w = weight, ratio = 1, mismatch = 0;
  if (a.old_logprob) {
    const double difference = logprob - a.old_logprob[i];
    mismatch = fabs(difference);
    if (!a.on_policy) {
      ratio = bounded_exp(difference);
    } else if (a.tis_cap > 0) {
      const double r = bounded_exp(difference), cap = a.tis_cap;
      w *= r > cap ? cap : r;
    }
  }
  double clipped_ratio = ratio;
  if (a.clip_low >= 0 && ratio < 1 - static_cast<double>(a.clip_low))
    clipped_ratio = 1 - static_cast<double>(a.clip_low);
  if (a.clip_high >= 0 && ratio > 1 + static_cast<double>(a.clip_high))
    clipped_ratio = 1 + static_cast<double>(a.clip_high);
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
  if (clipped) slope = 0;
  double gradient = -slope, kl = 0, k3 = 0;
  if (a.ref_logprob) {
    const double d = a.ref_logprob[i] - logprob, bounded = d > 20 ? 20.0 : d < -20 ? -20.0 : d, e = exp(bounded);
    k3 = e - bounded - 1;
    if (a.kl_weight && a.kl_weight[i] != 0) {
      kl = a.kl_weight[i] * k3;
      gradient += a.kl_weight[i] * (1 - e);
    }
  }
  const double terms[stat_count] = {weight * logprob,    surrogate, kl, k3, mismatch, ratio,
                                    clipped ? 1.0 : 0.0, gradient};
  for (int t = 0; t < stat_count; t++) s[t] = terms[t];
  return gradient;
}

// Rows [begin, begin + rows) of the call.
__global__ void __launch_bounds__(threads) token_losses(LogprobLossArgs a, int64_t begin, int64_t rows, RowResults r) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double terms[stat_count];
  r.gradient[i] = token_loss(a, begin + i, terms);
  for (int t = 0; t < stat_count; t++) r.stats[i * stat_count + t] = terms[t];
}

// Adds the rows' terms to the call's statistics, in the order of rows; a thread a field.
__global__ void add_stats(const float* logprob, int64_t rows, const double* terms, TokenStats* stats) {
  const auto sum = [&](int field, double& to) {
    for (int64_t i = 0; i < rows; i++) to += terms[i * stat_count + field];
  };
  switch (threadIdx.x) {
    case 0:
      sum(0, stats->weighted_logprob);
      break;
    case 1:
      sum(1, stats->surrogate);
      break;
    case 2:
      sum(2, stats->kl);
      break;
    case 3:
      sum(3, stats->kl_unweighted);
      break;
    case 4:
      sum(4, stats->mismatch_sum);
      break;
    case 5:
      sum(6, stats->clipped);
      break;
    case 6:
      for (int64_t i = 0; i < rows; i++) {
        const double m = terms[i * stat_count + 4], ratio = terms[i * stat_count + 5];
        if (!(m <= stats->mismatch_max)) stats->mismatch_max = m;
        if (ratio > stats->ratio_max || ratio != ratio) stats->ratio_max = ratio;
        if (ratio < stats->ratio_min || ratio != ratio) stats->ratio_min = ratio;
      }
      break;
    case 7:
      for (int64_t i = 0; i < rows; i++) {
        // x - x is 0 for a finite x only
        const double lp = logprob[i], g = terms[i * stat_count + 7];
        if (stats->first_nonfinite < 0 && !(lp - lp == 0 && g - g == 0)) stats->first_nonfinite = stats->rows + i;
      }
      stats->rows += rows;
      break;
    default:
      break;
  }
}

// logits[v] becomes d loss / d logits[v] = c ([v == target] - p_v), c = gradient * scale: as f32 in place, or as bf16
// at the front of the row, which a block does piece by piece: what it overwrites has been read.
template <bool Half>
__global__ void __launch_bounds__(threads)
    logits_gradient(float* logits, int64_t step, int64_t vocab, float scale, const double* lse, const double* gradient,
                    const int32_t* targets) {
  float* row = logits + blockIdx.x * step;
  bf16_t* halves = reinterpret_cast<bf16_t*>(row);
  const float c = static_cast<float>(gradient[blockIdx.x] * scale);
  const double whole = lse[blockIdx.x];
  const float high = static_cast<float>(whole), low = high - high == 0.0f ? static_cast<float>(whole - high) : 0.0f;
  const int64_t target = targets[blockIdx.x];
  const auto value = [&](int64_t v) {
    if (v >= vocab || c == 0) return 0.0f;
    const float p = -c * expf(row[v] * scale - high - low);
    return v == target ? p + c : p;
  };
  for (int64_t begin = 0; begin < step; begin += 2 * threads) {
    const int64_t v = begin + 2 * static_cast<int64_t>(threadIdx.x);
    const float first = value(v), second = value(v + 1);
    if (Half) __syncthreads();
    if (v >= step) continue;
    if (Half) {
      store_word(halves + v, pack_bf16(first, second));
    } else {
      row[v] = first;
      row[v + 1] = second;
    }
    if (Half) __syncthreads();
  }
}

void require_vocab(int64_t vocab) {
  require(vocab <= static_cast<int64_t>(most_chunks) * vocab_chunk, "VF_UNSUPPORTED",
          "Expected a vocabulary of at most " + std::to_string(most_chunks * vocab_chunk) +
              " on the GPU but received " + std::to_string(vocab));
}

// logits [rows, step] = x head^T
void logits_of(CudaContext& c, const float* x, const float* head, int64_t rows, int64_t hidden, int64_t vocab,
               float* logits) {
  const int64_t step = logits_step(vocab), ld = round_up(hidden, 8);
  if (!c.bf16)
    return cuda_plain_gemm(c, {rows, vocab, hidden, x, hidden, 1, head, hidden, 1, logits, step, false, nullptr});
  const bf16_t* w = cuda_weight_copy(c, head, vocab, hidden);
  const bf16_t* half_x = cuda_to_bf16(c, CudaScratch::operand_a, x, rows, hidden);
  cuda_gemm(c, {rows, vocab, hidden, half_x, ld, false, w, ld, false, logits, step, false, nullptr});
}

// dx = gradient head, dhead += gradient^T x, with the gradient in the logits' place.
void carry_gradient(CudaContext& c, const LogprobLossArgs& a, int64_t begin, int64_t rows, const float* logits) {
  const int64_t step = logits_step(a.vocab), ld = round_up(a.hidden, 8);
  float* dx = a.dx + begin * a.hidden;
  const float* x = a.x + begin * a.hidden;
  if (!c.bf16) {
    cuda_plain_gemm(c, {rows, a.hidden, a.vocab, logits, step, 1, a.head, 1, a.hidden, dx, a.hidden, false, nullptr});
    cuda_plain_gemm(c, {a.vocab, a.hidden, rows, logits, 1, step, x, 1, a.hidden, a.dhead, a.hidden, true, nullptr});
    return;
  }
  const bf16_t* gradient = reinterpret_cast<const bf16_t*>(logits);
  const bf16_t* w = cuda_weight_copy(c, a.head, a.vocab, a.hidden);
  const bf16_t* half_x = cuda_to_bf16(c, CudaScratch::operand_a, x, rows, a.hidden);
  cuda_gemm(c, {rows, a.hidden, a.vocab, gradient, 2 * step, false, w, ld, true, dx, a.hidden, false, nullptr});
  cuda_gemm(c, {a.vocab, a.hidden, rows, gradient, 2 * step, true, half_x, ld, true, a.dhead, a.hidden, true, nullptr});
}

}  // namespace

void cuda_logprob(CudaContext& c, const LogprobArgs& a) {
  require_vocab(a.vocab);
  const int64_t chunk = std::min(chunk_rows(a.vocab), a.rows), step = logits_step(a.vocab);
  float* logits = c.scratch.get<float>(CudaScratch::logits, chunk * step);
  for (int64_t begin = 0; begin < a.rows; begin += chunk) {
    const int64_t rows = std::min(chunk, a.rows - begin);
    logits_of(c, a.x + begin * a.hidden, a.head, rows, a.hidden, a.vocab, logits);
    double* no_lse = nullptr;
    VF_LAUNCH((logprob_rows), dim3(static_cast<unsigned>(rows)), dim3(threads), 0, c.stream, logits, step, a.vocab,
              a.inv_temperature, a.targets + begin, no_lse, a.logprob + begin, a.entropy ? a.entropy + begin : nullptr);
  }
  cuda_check_launch("logprob");
}

void cuda_logprob_loss(CudaContext& c, const LogprobLossArgs& a) {
  require_vocab(a.vocab);
  const int64_t chunk = std::min(chunk_rows(a.vocab), a.rows), step = logits_step(a.vocab);
  float* logits = c.scratch.get<float>(CudaScratch::logits, chunk * step);
  double* memory = c.scratch.get<double>(CudaScratch::rows, chunk * (2 + stat_count));
  const RowResults results{memory, memory + chunk, memory + 2 * chunk};
  TokenStats* stats = c.scratch.get<TokenStats>(CudaScratch::stats, 1);
  c.upload(stats, a.stats, sizeof *stats);
  for (int64_t begin = 0; begin < a.rows; begin += chunk) {
    const int64_t rows = std::min(chunk, a.rows - begin);
    const unsigned row_blocks = static_cast<unsigned>(rows);
    logits_of(c, a.x + begin * a.hidden, a.head, rows, a.hidden, a.vocab, logits);
    float* no_entropy = nullptr;
    VF_LAUNCH((logprob_rows), dim3(row_blocks), dim3(threads), 0, c.stream, logits, step, a.vocab, a.inv_temperature,
              a.targets + begin, results.lse, a.logprob + begin, no_entropy);
    VF_LAUNCH((token_losses), dim3(blocks_of(rows, threads)), dim3(threads), 0, c.stream, a, begin, rows, results);
    VF_LAUNCH((add_stats), dim3(1), dim3(32), 0, c.stream, a.logprob + begin, rows, results.stats, stats);
    if (c.bf16) {
      VF_LAUNCH((logits_gradient<true>), dim3(row_blocks), dim3(threads), 0, c.stream, logits, step, a.vocab,
                a.inv_temperature, results.lse, results.gradient, a.targets + begin);
    } else {
      VF_LAUNCH((logits_gradient<false>), dim3(row_blocks), dim3(threads), 0, c.stream, logits, step, a.vocab,
                a.inv_temperature, results.lse, results.gradient, a.targets + begin);
    }
    carry_gradient(c, a, begin, rows, logits);
  }
  cuda_check_launch("logprob_loss");
  c.download(a.stats, stats, sizeof *stats);
}

}  // namespace vf
