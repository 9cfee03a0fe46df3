// Draws one token a row, a block a row: the largest logit, inverse CDF over all ids, or a cut to top-k and top-p by
// radix selection on the logits' order (whole-number counts and masses, so that the order of additions leaves no
// trace).
#include <string>

#include "cuda_ops.h"
#include "row_logprob.cuh"

namespace vf {

namespace {

constexpr int threads = row_logprob_threads, warps = threads / 32;
constexpr double mass_unit = 17592186044416.0;  // 2^44: a weight of 1

// Larger logits have smaller keys; NaN and -inf come last.
__device__ __forceinline__ uint32_t order_key(float logit) {
  if (!(logit > -INFINITY)) return 0xffffffffu;
  const uint32_t bits = __float_as_uint(logit);
  return ~(bits & 0x80000000u ? ~bits : bits | 0x80000000u);
}

struct Row {
  const float* logits;
  int64_t vocab;
  float scale;
  double largest;  // of the scaled logits
  __device__ uint64_t mass(float logit) const {
    const double w = exp(static_cast<double>(logit * scale) - largest);
    return logit > -INFINITY ? static_cast<uint64_t>(w * mass_unit + 0.5) : 0;
  }
};

// A set of a row's tokens in order of size: all with a smaller key, and the first `ties` ids with this one.
struct Cut {
  uint32_t key;
  uint64_t ties;
};

struct Shared {
  LogitChunk chunks[most_chunks];
  unsigned long long counts[256], masses[256];
  double doubles[threads];
  float peaks[threads];
  int32_t ids[threads];
  int votes[warps];
  double lse;
  uint64_t left;
  uint32_t prefix;
  int32_t id;
};

// The shortest cut whose count (or mass) reaches `wanted` >= 1; the row's whole if nothing does.
template <bool ByMass>
__device__ Cut select(const Row& row, uint64_t wanted, Shared& s) {
  if (threadIdx.x == 0) {
    s.prefix = 0;
    s.left = wanted;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    s.counts[threadIdx.x] = 0;
    s.masses[threadIdx.x] = 0;
    __syncthreads();
    const uint32_t prefix = s.prefix;
    for (int64_t v = threadIdx.x; v < row.vocab; v += threads) {
      const uint32_t key = order_key(row.logits[v]);
      if (key == 0xffffffffu || (shift < 24 && key >> (shift + 8) != prefix)) continue;
      atomicAdd(&s.counts[key >> shift & 255], 1ull);
      if (ByMass) atomicAdd(&s.masses[key >> shift & 255], static_cast<unsigned long long>(row.mass(row.logits[v])));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      uint64_t left = s.left;
      int bin = 0, last = 0;
      for (bin = 0; bin < 256; bin++) {
        const uint64_t here = ByMass ? s.masses[bin] : s.counts[bin];
        if (s.counts[bin] > 0) last = bin;
        if (here >= left) break;
        left -= here;
      }
      if (bin == 256) {  // nothing reaches it: everything of the last bin that holds anything
        bin = last;
        left = ByMass ? s.masses[bin] : s.counts[bin];
      }
      s.prefix = prefix << 8 | static_cast<uint32_t>(bin);
      s.left = left;
    }
    __syncthreads();
  }
  Cut cut{s.prefix, s.left};
  if (ByMass) {
    // equal logits weigh the same: how many of them the rest of the mass takes
    const uint32_t ordered = ~s.prefix;
    const float logit = __uint_as_float(ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered);
    const uint64_t each = row.mass(logit), count = s.counts[s.prefix & 255];
    cut.ties = each == 0 ? count : (s.left + each - 1) / each;
    if (cut.ties > count) cut.ties = count;
    if (cut.ties == 0) cut.ties = 1;
  }
  __syncthreads();
  return cut;
}

// The mass of a cut.
__device__ uint64_t mass_of(const Row& row, Cut cut, Shared& s) {
  unsigned long long sum = 0, each = 0;
  for (int64_t v = threadIdx.x; v < row.vocab; v += threads) {
    const uint32_t key = order_key(row.logits[v]);
    if (key < cut.key) sum += row.mass(row.logits[v]);
    if (key == cut.key) each = row.mass(row.logits[v]);
  }
  s.counts[threadIdx.x] = sum;
  s.masses[threadIdx.x] = each;
  __syncthreads();
  sum = each = 0;
  for (int i = 0; i < threads; i++) {
    sum += s.counts[i];
    each = s.masses[i] > each ? s.masses[i] : each;
  }
  __syncthreads();
  return sum + each * cut.ties;
}

// The id of the last token of a cut: the ties-th with its key, in order of ids.
__device__ int32_t last_of(const Row& row, Cut cut, Shared& s) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) s.id = -1;
  uint64_t before = 0;
  __syncthreads();
  for (int64_t begin = 0; begin < row.vocab; begin += threads) {
    const int64_t v = begin + threadIdx.x;
    const bool match = v < row.vocab && order_key(row.logits[v]) == cut.key;
    const unsigned votes = __ballot_sync(all_lanes, match);
    if (lane == 0) s.votes[warp] = __popc(votes);
    __syncthreads();
    uint64_t at = before + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < warps; w++) {
      if (w < warp) at += s.votes[w];
      before += s.votes[w];
    }
    if (match && at + 1 == cut.ties) s.id = static_cast<int32_t>(v);
    __syncthreads();
  }
  return s.id;
}

__device__ Cut smaller(Cut a, Cut b) { return a.key != b.key ? (a.key < b.key ? a : b) : (a.ties < b.ties ? a : b); }

// Cut to the top_k largest, then to the fewest of these whose share reaches top_p, then inverse CDF in order of size.
__device__ int32_t draw_cut(const Row& row, int32_t top_k, float top_p, double uniform, Shared& s) {
  Cut cut{0xfffffffeu, ~0ull};
  double total = 0;
  if (top_k > 0 && top_k < row.vocab) {
    cut = select<false>(row, static_cast<uint64_t>(top_k), s);
    total = static_cast<double>(mass_of(row, cut, s));
  } else {
    const int count = static_cast<int>((row.vocab + vocab_chunk - 1) / vocab_chunk);
    for (int c = 0; c < count; c++)
      if (s.chunks[c].sum > 0) total += s.chunks[c].sum * exp(s.chunks[c].largest - row.largest) * mass_unit;
  }
  double kept = total;
  if (top_p < 1) {
    const double share = ceil(top_p * total);
    cut = smaller(cut, select<true>(row, share < 1 ? 1 : static_cast<uint64_t>(share), s));
    kept = static_cast<double>(mass_of(row, cut, s));
  }
  const uint64_t target = static_cast<uint64_t>(uniform * kept) + 1;
  return last_of(row, smaller(cut, select<true>(row, target, s)), s);
}

// The first index whose running sum passes `share` of the total: `weight` of every thread in the order of threads.
// Gives the index and the sum before it; -1 where the total is 0 or a NaN.
__device__ int pick(double weight, double target, bool is_share, Shared& s, double& below) {
  s.doubles[threadIdx.x] = weight;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0, sum = 0;
    for (int i = 0; i < threads; i++) total += s.doubles[i];
    const double limit = is_share ? target * total : target;
    s.id = -1;
    for (int i = 0; i < threads; i++) {
      const double w = s.doubles[i];
      if (!(w > 0)) continue;
      if (sum + w > limit || sum + w == total) {
        s.id = i;
        break;
      }
      sum += w;
    }
    s.lse = sum;
  }
  __syncthreads();
  below = s.lse;
  const int chosen = s.id;
  __syncthreads();
  return chosen;
}

// Inverse CDF over ids in order: the chunk by the sums at hand, then the thread's eight tokens, then the token.
__device__ int32_t draw_whole(const Row& row, double uniform, Shared& s) {
  constexpr int own = vocab_chunk / threads, chunks_own = most_chunks / threads;
  const int count = static_cast<int>((row.vocab + vocab_chunk - 1) / vocab_chunk);
  const auto chunk_weight = [&](int c) {
    return c < count && s.chunks[c].sum != 0 ? s.chunks[c].sum * exp(s.chunks[c].largest - row.largest) : 0.0;
  };
  double weight = 0, below = 0, total = 0;
  for (int i = 0; i < chunks_own; i++) weight += chunk_weight(threadIdx.x * chunks_own + i);
  const int thread = pick(weight, uniform, true, s, below);
  if (thread < 0) return -1;
  for (int i = 0; i < threads; i++) total += s.doubles[i];
  int chunk = thread * chunks_own;
  double target = uniform * total, before = below;
  for (int i = chunk; i < (thread + 1) * chunks_own; i++) {
    const double w = chunk_weight(i);
    if (!(w > 0)) continue;
    chunk = i;
    before = below;
    if (below + w > target) break;
    below += w;
  }
  const double share = (target - before) / chunk_weight(chunk);
  __syncthreads();
  const int64_t begin = static_cast<int64_t>(chunk) * vocab_chunk + threadIdx.x * own;
  double sum = 0;
  const auto token_weight = [&](int64_t v) {
    return v < row.vocab ? static_cast<double>(expf(row.logits[v] * row.scale - s.chunks[chunk].largest)) : 0.0;
  };
  for (int i = 0; i < own; i++) sum += token_weight(begin + i);
  const int owner = pick(sum, share > 1 ? 1.0 : share, true, s, below);
  if (owner < 0) return -1;
  total = 0;
  for (int i = 0; i < threads; i++) total += s.doubles[i];
  target = (share > 1 ? 1.0 : share) * total;
  int32_t id = -1;
  for (int i = 0; i < own; i++) {
    const int64_t v = static_cast<int64_t>(chunk) * vocab_chunk + owner * own + i;
    const double w = token_weight(v);
    if (!(w > 0)) continue;
    id = static_cast<int32_t>(v);
    below += w;
    if (below > target) break;
  }
  __syncthreads();
  return id;
}

// The largest logit, the lowest id among equals; NaNs are passed over; 0 when nothing is left.
__device__ int32_t largest_id(const Row& row, Shared& s) {
  float peak = -INFINITY;
  int32_t id = -1;
  for (int64_t v = threadIdx.x; v < row.vocab; v += threads)
    if (row.logits[v] > peak) {
      peak = row.logits[v];
      id = static_cast<int32_t>(v);
    }
  s.peaks[threadIdx.x] = peak;
  s.ids[threadIdx.x] = id;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < threads; i++) {
      if (s.ids[i] < 0) continue;
      if (id < 0 || s.peaks[i] > peak || (s.peaks[i] == peak && s.ids[i] < id)) {
        peak = s.peaks[i];
        id = s.ids[i];
      }
    }
    s.id = id < 0 ? 0 : id;
  }
  __syncthreads();
  return s.id;
}

struct SampleTask {
  int64_t vocab;
  const float* logits;
  const double* uniform;
  float scale, top_p;
  int32_t top_k;
  bool greedy, cut;
  int32_t* ids;
  float* logprob;
};

__global__ void __launch_bounds__(threads) sample(SampleTask a) {
  __shared__ Shared s;
  Row row{a.logits + blockIdx.x * a.vocab, a.vocab, a.scale, -INFINITY};
  const double lse = device_lse(row.logits, row.vocab, row.scale, s.chunks, &s.lse);
  const int count = static_cast<int>((row.vocab + vocab_chunk - 1) / vocab_chunk);
  for (int c = 0; c < count; c++)
    if (s.chunks[c].sum > 0 && s.chunks[c].largest > row.largest) row.largest = s.chunks[c].largest;
  __syncthreads();
  int32_t id = -1;
  // without one finite sum there is nothing to draw from
  if (!a.greedy && row.largest > -INFINITY)
    id = a.cut ? draw_cut(row, a.top_k, a.top_p, a.uniform[blockIdx.x], s) : draw_whole(row, a.uniform[blockIdx.x], s);
  if (id < 0) id = largest_id(row, s);
  if (threadIdx.x > 0) return;
  a.ids[blockIdx.x] = id;
  a.logprob[blockIdx.x] = device_logprob(row.logits[id], row.scale, lse);
}

}  // namespace

void cuda_sample(CudaContext& c, const SampleArgs& a) {
  if (a.rows == 0) return;
  require(a.vocab <= static_cast<int64_t>(most_chunks) * vocab_chunk, "VF_UNSUPPORTED",
          "Expected a vocabulary of at most " + std::to_string(most_chunks * vocab_chunk) +
              " on the GPU but received " + std::to_string(a.vocab));
  const bool greedy = a.temperature <= 1e-6f;
  double* uniform = c.scratch.get<double>(CudaScratch::uniform, a.rows);
  int32_t* ids = c.scratch.get<int32_t>(CudaScratch::ids, 2 * a.rows);
  float* logprob = reinterpret_cast<float*>(ids + a.rows);
  if (!greedy) c.upload(uniform, a.uniform, static_cast<size_t>(a.rows) * sizeof(double));
  const SampleTask task{a.vocab, a.logits, uniform, greedy ? 1.0f : 1.0f / a.temperature,
                        a.top_p, a.top_k,  greedy,  !greedy && ((a.top_k > 0 && a.top_k < a.vocab) || a.top_p < 1),
                        ids,     logprob};
  VF_LAUNCH((sample), dim3(static_cast<unsigned>(a.rows)), dim3(threads), 0, c.stream, task);
  cuda_check_launch("sample");
  std::vector<int32_t> out(static_cast<size_t>(2 * a.rows));
  c.download(out.data(), ids, out.size() * sizeof(int32_t));
  std::memcpy(a.ids, out.data(), static_cast<size_t>(a.rows) * sizeof(int32_t));
  std::memcpy(a.logprob, out.data() + a.rows, static_cast<size_t>(a.rows) * sizeof(float));
}

}  // namespace vf
