// Attention in f32 without tensor cores, for any head_dim up to 256: one row under one kv head a block. It serves
// decoding (long rows in parts of fixed size that a second kernel joins), f32 mode, and head sizes that have no tiles.
// Kv is the type of the store's elements.
#pragma once
#include "attention_tiles.cuh"

namespace vf {

constexpr int row_threads = 128, row_heads = 8, row_keys = split_pairs * kv_block,
              row_columns = max_head_dim / row_threads;

// A part's result: the weighted values [head_dim], then the largest score and the sum of exponentials.
__device__ __forceinline__ float* part_of(float* parts, const AttentionInputs& in, int part, int head) {
  return parts + (static_cast<int64_t>(part) * in.heads.q_heads + head) * (in.heads.head_dim + 2);
}

// Shared memory: queries [row_heads, dim], scores [row_heads, row_keys], peaks, totals, rescales [row_heads].
inline size_t row_bytes(int dim) { return sizeof(float) * row_heads * (dim + row_keys + 3); }

// Block `block` of the store under one kv head: keys [dim, kv_block], values [kv_block, pad].
template <class Kv>
__device__ __forceinline__ const Kv* keys_of(const AttentionInputs& in, int block, int kv_head) {
  const int64_t at = static_cast<int64_t>(block) * in.heads.kv_heads + kv_head;
  return static_cast<const Kv*>(in.keys) + at * in.heads.head_dim * kv_block;
}
template <class Kv>
__device__ __forceinline__ const Kv* values_of(const AttentionInputs& in, int block, int kv_head) {
  const int64_t at = static_cast<int64_t>(block) * in.heads.kv_heads + kv_head;
  return static_cast<const Kv*>(in.values) + at * kv_block * padded_dim(in.heads);
}

// scores[h, key] = q_h . key * scale for the split_pairs pairs at `pair`; -inf where not seen.
template <class Kv>
__device__ __forceinline__ void score_row_keys(const AttentionInputs& in, int kv_head, int pair, int pair_end, int seen,
                                               const float* queries, int heads, float* scores) {
  const int dim = in.heads.head_dim, slot = threadIdx.x % kv_block;
  for (int part = threadIdx.x / kv_block; part < split_pairs; part += row_threads / kv_block) {
    const int p = pair + part;
    const bool visible = p < pair_end && slot < in.counts[p] && in.begins[p] + slot < seen;
    float sums[row_heads] = {};
    if (visible) {
      const Kv* k = keys_of<Kv>(in, in.blocks[p], kv_head) + slot;
      for (int d = 0; d < dim; d++) {
        const float x = kv_float(k[d * kv_block]);
#pragma unroll
        for (int h = 0; h < row_heads; h++) sums[h] += queries[h * dim + d] * x;
      }
    }
#pragma unroll
    for (int h = 0; h < row_heads; h++)
      if (h < heads) scores[h * row_keys + part * kv_block + slot] = visible ? sums[h] * in.scale : -INFINITY;
  }
}

__device__ __forceinline__ void load_row_queries(const float* from, const AttentionInputs& in, int row, int first_head,
                                                 int heads, float* to) {
  const int dim = in.heads.head_dim;
  for (int i = threadIdx.x; i < row_heads * dim; i += row_threads)
    to[i] = i / dim < heads
                ? from[(static_cast<int64_t>(row) * in.heads.q_heads + first_head + i / dim) * dim + i % dim]
                : 0.0f;
}

template <class Kv>
__global__ void __launch_bounds__(row_threads)
    attention_rows(AttentionInputs in, const RowTask* tasks, float* parts, float* out, float* lse) {
  VF_DYNAMIC_SHARED(memory);
  const int dim = in.heads.head_dim, pad = padded_dim(in.heads), group = in.heads.q_heads / in.heads.kv_heads;
  float* const queries = reinterpret_cast<float*>(memory);
  float* const scores = queries + row_heads * dim;
  float* const peaks = scores + row_heads * row_keys;
  float* const totals = peaks + row_heads;
  float* const rescales = totals + row_heads;
  const RowTask t = tasks[blockIdx.x];
  if (t.row < 0) return;
  const int kv_head = blockIdx.y, first = blockIdx.z * row_heads,
            heads = group - first < row_heads ? group - first : row_heads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  load_row_queries(in.q, in, t.row, kv_head * group + first, heads, queries);
  if (threadIdx.x < row_heads) {
    peaks[threadIdx.x] = -INFINITY;
    totals[threadIdx.x] = 0;
  }
  float sums[row_heads][row_columns] = {};
  for (int pair = t.pair_begin; pair < t.pair_end; pair += split_pairs) {
    __syncthreads();
    score_row_keys<Kv>(in, kv_head, pair, t.pair_end, t.keys, queries, heads, scores);
    __syncthreads();
    for (int h = warp; h < heads; h += row_threads / 32) {
      float top = -INFINITY;
      for (int j = lane; j < row_keys; j += 32) top = scores[h * row_keys + j] <= top ? top : scores[h * row_keys + j];
      top = warp_reduce(top, LargerOf());
      const float before = peaks[h], next = top > before ? top : before, shift = next == -INFINITY ? 0.0f : next;
      float total = 0;
      for (int j = lane; j < row_keys; j += 32) {
        const float e = expf(scores[h * row_keys + j] - shift);
        scores[h * row_keys + j] = e;
        total += e;
      }
      total = warp_reduce(total, SumOf());
      __syncwarp();
      if (lane == 0) {
        rescales[h] = expf(before - shift);
        peaks[h] = next;
        totals[h] = totals[h] * rescales[h] + total;
      }
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < row_heads; h++)
#pragma unroll
      for (int i = 0; i < row_columns; i++)
        if (h < heads) sums[h][i] *= rescales[h];
    for (int part = 0; part < split_pairs && pair + part < t.pair_end; part++) {
      const int p = pair + part, left = t.keys - in.begins[p], count = left < in.counts[p] ? left : in.counts[p];
      const Kv* v = values_of<Kv>(in, in.blocks[p], kv_head);
      for (int slot = 0; slot < count; slot++)
#pragma unroll
        for (int i = 0; i < row_columns; i++) {
          const int d = threadIdx.x + i * row_threads;
          const float x = d < dim ? kv_float(v[slot * pad + d]) : 0.0f;
#pragma unroll
          for (int h = 0; h < row_heads; h++)
            if (h < heads) sums[h][i] += scores[h * row_keys + part * kv_block + slot] * x;
        }
    }
  }
  __syncthreads();
  for (int h = 0; h < heads; h++) {
    const int head = kv_head * group + first + h;
    const int64_t at = static_cast<int64_t>(t.row) * in.heads.q_heads + head;
    float* to = t.part < 0 ? out + at * dim : part_of(parts, in, t.part, head);
    const float inverse = t.part < 0 ? 1.0f / totals[h] : 1.0f;
#pragma unroll
    for (int i = 0; i < row_columns; i++) {
      const int d = threadIdx.x + i * row_threads;
      float value = 0;
#pragma unroll
      for (int g = 0; g < row_heads; g++) value = g == h ? sums[g][i] : value;
      if (d < dim) to[d] = value * inverse;
    }
    if (threadIdx.x > 0) continue;
    if (t.part < 0) {
      if (lse) lse[at] = peaks[h] + logf(totals[h]);
    } else {
      to[dim] = peaks[h];
      to[dim + 1] = totals[h];
    }
  }
}

// Joins a row's parts in order, for one head.
__global__ void __launch_bounds__(row_threads)
    combine_parts(AttentionInputs in, const CombineTask* tasks, float* parts, float* out, float* lse) {
  const CombineTask t = tasks[blockIdx.x];
  if (t.row < 0) return;
  const int head = blockIdx.y, dim = in.heads.head_dim;
  float peak = -INFINITY, total = 0;
  for (int p = 0; p < t.parts; p++) {
    const float top = part_of(parts, in, t.part_begin + p, head)[dim];
    peak = top <= peak ? peak : top;
  }
  for (int p = 0; p < t.parts; p++) {
    const float* part = part_of(parts, in, t.part_begin + p, head);
    total += expf(part[dim] - peak) * part[dim + 1];
  }
  const int64_t at = static_cast<int64_t>(t.row) * in.heads.q_heads + head;
  for (int d = threadIdx.x; d < dim; d += row_threads) {
    float sum = 0;
    for (int p = 0; p < t.parts; p++) {
      const float* part = part_of(parts, in, t.part_begin + p, head);
      sum += expf(part[dim] - peak) * part[d];
    }
    out[at * dim + d] = sum / total;
  }
  if (threadIdx.x == 0 && lse) lse[at] = peak + logf(total);
}

template <class Kv>
__global__ void __launch_bounds__(row_threads)
    attention_rows_dq(AttentionInputs in, const RowTask* tasks, const float* lse, const float* means, const float* dout,
                      float* dq) {
  VF_DYNAMIC_SHARED(memory);
  const int dim = in.heads.head_dim, pad = padded_dim(in.heads), group = in.heads.q_heads / in.heads.kv_heads,
            slot = threadIdx.x % kv_block;
  float* const queries = reinterpret_cast<float*>(memory);
  float* const scores = queries + row_heads * dim;
  float* const douts = scores + row_heads * row_keys;
  const RowTask t = tasks[blockIdx.x];
  const int kv_head = blockIdx.y, first = blockIdx.z * row_heads,
            heads = group - first < row_heads ? group - first : row_heads;
  load_row_queries(in.q, in, t.row, kv_head * group + first, heads, queries);
  load_row_queries(dout, in, t.row, kv_head * group + first, heads, douts);
  float sums[row_heads][row_columns] = {};
  for (int pair = t.pair_begin; pair < t.pair_end; pair += split_pairs) {
    __syncthreads();
    score_row_keys<Kv>(in, kv_head, pair, t.pair_end, t.keys, queries, heads, scores);
    // a thread goes on with the keys that it scored itself
    for (int part = threadIdx.x / kv_block; part < split_pairs; part += row_threads / kv_block) {
      const int p = pair + part;
      const bool visible = p < t.pair_end && slot < in.counts[p] && in.begins[p] + slot < t.keys;
      const Kv* v = values_of<Kv>(in, visible ? in.blocks[p] : 0, kv_head) + slot * pad;
      for (int h = 0; h < heads; h++) {
        const int64_t at = static_cast<int64_t>(t.row) * in.heads.q_heads + kv_head * group + first + h;
        float slope = 0;
        if (visible) {
          for (int d = 0; d < dim; d++) slope += douts[h * dim + d] * kv_float(v[d]);
          slope = expf(scores[h * row_keys + part * kv_block + slot] - lse[at]) * (slope - means[at]) * in.scale;
        }
        scores[h * row_keys + part * kv_block + slot] = slope;
      }
    }
    __syncthreads();
    for (int part = 0; part < split_pairs && pair + part < t.pair_end; part++) {
      const int p = pair + part, left = t.keys - in.begins[p], count = left < in.counts[p] ? left : in.counts[p];
      const Kv* k = keys_of<Kv>(in, in.blocks[p], kv_head);
#pragma unroll
      for (int i = 0; i < row_columns; i++) {
        const int d = threadIdx.x + i * row_threads;
        if (d >= dim) continue;
        for (int s = 0; s < count; s++)
#pragma unroll
          for (int h = 0; h < row_heads; h++)
            if (h < heads) sums[h][i] += scores[h * row_keys + part * kv_block + s] * kv_float(k[d * kv_block + s]);
      }
    }
  }
#pragma unroll
  for (int h = 0; h < row_heads; h++)
#pragma unroll
    for (int i = 0; i < row_columns; i++) {
      const int d = threadIdx.x + i * row_threads;
      if (h < heads && d < dim)
        dq[(static_cast<int64_t>(t.row) * in.heads.q_heads + kv_head * group + first + h) * dim + d] = sums[h][i];
    }
}

// One KV block under one kv head: walks the queries that see it one by one. Eight threads share a key's products.
template <class Kv>
__global__ void __launch_bounds__(row_threads)
    attention_rows_dkv(AttentionInputs in, const KeyTile* tiles, const KeyUser* users, const float* lse,
                       const float* means, const float* dout, float* dkeys, float* dvalues) {
  constexpr int most_own = max_head_dim * kv_block / row_threads, sharers = row_threads / kv_block;
  VF_DYNAMIC_SHARED(memory);
  const int dim = in.heads.head_dim, pad = padded_dim(in.heads), group = in.heads.q_heads / in.heads.kv_heads;
  float* const query = reinterpret_cast<float*>(memory);
  float* const grad = query + dim;
  float* const weights = grad + dim;  // [kv_block]
  float* const slopes = weights + kv_block;
  const int part = blockIdx.z, kv_head = blockIdx.y, key = threadIdx.x / sharers, share = threadIdx.x % sharers;
  const KeyTile t = tiles[blockIdx.x];
  if (t.blocks[part] < 0) return;
  const int64_t block = static_cast<int64_t>(t.blocks[part]) * in.heads.kv_heads + kv_head;
  const Kv *k = keys_of<Kv>(in, t.blocks[part], kv_head), *v = values_of<Kv>(in, t.blocks[part], kv_head);
  float key_sums[most_own] = {}, value_sums[most_own] = {};
  for (int u = 0; u < t.users; u++) {
    const KeyUser& user = users[t.user_begin + u];
    const int begin = user.begins[part], count = user.counts[part];
    for (int i = begin + 1 > user.keys ? begin + 1 - user.keys : 0; i < user.rows; i++) {
      const int left = user.keys + i - begin, seen = left < count ? left : count;
      for (int h = 0; h < group; h++) {
        const int64_t at = (static_cast<int64_t>(user.row) + i) * in.heads.q_heads + kv_head * group + h;
        __syncthreads();
        for (int d = threadIdx.x; d < dim; d += row_threads) {
          query[d] = in.q[at * dim + d];
          grad[d] = dout[at * dim + d];
        }
        __syncthreads();
        float score = 0, slope = 0;
        if (key < seen)
          for (int d = share; d < dim; d += sharers) {
            score += query[d] * kv_float(k[d * kv_block + key]);
            slope += grad[d] * kv_float(v[key * pad + d]);
          }
        for (int bits = sharers / 2; bits > 0; bits >>= 1) {
          score += __shfl_xor_sync(all_lanes, score, bits);
          slope += __shfl_xor_sync(all_lanes, slope, bits);
        }
        if (share == 0) {
          const float p = key < seen ? expf(score * in.scale - lse[at]) : 0.0f;
          weights[key] = p;
          slopes[key] = key < seen ? p * (slope - means[at]) * in.scale : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < most_own; e++) {
          const int element = threadIdx.x + e * row_threads, j = element / dim, d = element % dim;
          if (j >= seen) continue;
          key_sums[e] += slopes[j] * query[d];
          value_sums[e] += weights[j] * grad[d];
        }
      }
    }
  }
#pragma unroll
  for (int e = 0; e < most_own; e++) {
    const int element = threadIdx.x + e * row_threads, j = element / dim, d = element % dim;
    if (j >= kv_block) continue;
    dkeys[(block * kv_block + j) * pad + d] += key_sums[e];
    dvalues[(block * kv_block + j) * pad + d] += value_sums[e];
  }
}

}  // namespace vf
