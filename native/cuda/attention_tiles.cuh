// Attention with tensor cores for head_dim 64 and 128: a block of four warps takes 64 queries (rows times the heads of
// one kv head) and walks the keys 64 at a time with an online softmax. Backward recomputes the scores twice: once by
// tiles of queries for dq, once by tiles of keys for dk and dv, so that no sum needs atomics.
#pragma once
#include "attention_plan.h"
#include "reduce.cuh"

namespace vf {

constexpr int tile_keys = tile_blocks * kv_block, tile_threads = 128, key_tile_queries = 32;
constexpr float log2_e = 1.4426950408889634f, ln_2 = 0.6931471805599453f;

// What all attention kernels are given.
struct AttentionInputs {
  Heads heads;
  float scale;
  const float* q;
  const void *keys, *values;                // the store: bf16 where the policy is bf16, else f32
  const int32_t *blocks, *counts, *begins;  // by pair
};

template <int Dim>
struct TileShape {
  static constexpr int query_step = Dim + 8, key_step = tile_keys + 8;
  static constexpr int queries = tile_queries * query_step, keys = Dim * key_step, values = tile_keys * query_step;
  static constexpr int key_tile_rows = key_tile_queries * query_step;
  static constexpr size_t forward_bytes = sizeof(bf16_t) * (queries + keys + values);
  static constexpr size_t backward_bytes = sizeof(bf16_t) * (2 * queries + keys + values);
  static constexpr size_t key_bytes =
      sizeof(bf16_t) * (keys + values + 2 * key_tile_rows) + sizeof(float) * 2 * key_tile_queries;
};

// Rounds queries [first, first + Count) of a tile's rows to shared memory [Count, Dim + 8]; zeros past `queries`.
template <int Dim, int Count>
__device__ __forceinline__ void load_queries(bf16_t* to, const float* from, const Heads& h, int kv_head, int row,
                                             int first, int queries) {
  const int group = h.q_heads / h.kv_heads;
  for (int i = threadIdx.x; i < Count * Dim / 4; i += tile_threads) {
    const int m = i / (Dim / 4), d = i % (Dim / 4) * 4, query = first + m;
    float4 v = make_float4(0, 0, 0, 0);
    if (query < queries)
      v = load_float4(
          from + ((static_cast<int64_t>(row) + query / group) * h.q_heads + kv_head * group + query % group) * Dim + d);
    bf16_t* at = to + m * TileShape<Dim>::query_step + d;
    store_word(at, pack_bf16(v.x, v.y));
    store_word(at + 2, pack_bf16(v.z, v.w));
  }
}

// The first `count` of eight bf16 elements; zeros in place of the others.
__device__ __forceinline__ uint4 keep_first(uint4 v, int count) {
  const auto keep = [count](uint32_t word, int first) {
    return count >= first + 2 ? word : count > first ? word & 0xffffu : 0u;
  };
  return make_uint4(keep(v.x, 0), keep(v.y, 2), keep(v.z, 4), keep(v.w, 6));
}

// Starts the copy of eight bf16 elements to shared memory, zeros in place of all but the first `count`.
__device__ __forceinline__ void copy_first(bf16_t* to, const bf16_t* from, int count) {
  if (count <= 0 || count >= 8) {
    cp_async(to, from, count > 0);
  } else {
    store_uint4(to, keep_first(load_uint4(from), count));
  }
}

// Starts the copy of one KV block of a bf16 store to columns [16 part, + 16) of the tile's keys [Dim, 64 + 8] and rows
// of its values [64, Dim + 8]; slots at or past `count` become zero, whatever stands there. All threads of the block
// take part.
template <int Dim>
__device__ __forceinline__ void load_kv_block(bf16_t* keys, bf16_t* values, const AttentionInputs& in, int kv_head,
                                              int block, int count, int part) {
  const int64_t at = (static_cast<int64_t>(block) * in.heads.kv_heads + kv_head) * Dim * kv_block;
  const bf16_t *from_keys = static_cast<const bf16_t*>(in.keys) + at,
               *from_values = static_cast<const bf16_t*>(in.values) + at;
  for (int i = threadIdx.x; i < Dim * kv_block / 8; i += tile_threads) {
    const int d = i / 2, slot = i % 2 * 8, key = i / (Dim / 8), column = i % (Dim / 8) * 8;
    copy_first(keys + d * TileShape<Dim>::key_step + part * kv_block + slot, from_keys + d * kv_block + slot,
               count - slot);
    cp_async(values + (part * kv_block + key) * TileShape<Dim>::query_step + column, from_values + key * Dim + column,
             key < count);
  }
}

// The pairs [pair, pair + 4) of a view.
template <int Dim>
__device__ __forceinline__ void load_pairs(bf16_t* keys, bf16_t* values, const AttentionInputs& in, int kv_head,
                                           int pair, int pair_end) {
  for (int part = 0; part < tile_blocks; part++) {
    const bool there = pair + part < pair_end;
    load_kv_block<Dim>(keys, values, in, kv_head, there ? in.blocks[pair + part] : 0,
                       there ? in.counts[pair + part] : 0, part);
  }
  cp_async_commit();
  cp_async_wait<0>();
}

// Addresses of ldmatrix for a 16 x 16 part: with the 8-row halves in words (0, 1) and (2, 3) of operand a …
__device__ __forceinline__ int first_by_8() { return threadIdx.x % 8 + threadIdx.x / 8 % 2 * 8; }
__device__ __forceinline__ int first_by_16() { return threadIdx.x % 8 + threadIdx.x % 32 / 16 * 8; }
__device__ __forceinline__ int second_by_16() { return threadIdx.x % 32 / 16 * 8; }
__device__ __forceinline__ int second_by_8() { return threadIdx.x / 8 % 2 * 8; }

// sums [16, 8 Tiles] += a [16, Dim] b^T: a from rows [row, + 16) of `a` [.., step]; b from `b`, stored [n, k] or, where
// KMajor, [k, n].
template <int Dim, int Tiles, bool KMajor>
__device__ __forceinline__ void multiply_shared(float (&sums)[Tiles][4], const bf16_t* a, int row, int a_step,
                                                const bf16_t* b, int b_step) {
#pragma unroll
  for (int k = 0; k < Dim; k += 16) {
    uint32_t fa[4];
    ldmatrix(fa, a + (row + first_by_8()) * a_step + k + second_by_16());
#pragma unroll
    for (int j = 0; j < Tiles; j += 2) {
      uint32_t fb[4];
      if (KMajor) {
        ldmatrix_transposed(fb, b + (k + first_by_8()) * b_step + 8 * j + second_by_16());
      } else {
        ldmatrix(fb, b + (8 * j + first_by_16()) * b_step + k + second_by_8());
      }
      mma_bf16(sums[j], fa, {fb[0], fb[1]});
      mma_bf16(sums[j + 1], fa, {fb[2], fb[3]});
    }
  }
}

// sums [16, Dim] += weights [16, 8 Tiles] b, the weights in the layout of an earlier product's sums; b stored [k, n]
// or, where NMajor, [n, k].
template <int Dim, int Tiles, bool NMajor>
__device__ __forceinline__ void multiply_weights(float (&sums)[Dim / 8][4], const float (&weights)[Tiles][4],
                                                 const bf16_t* b, int b_step) {
#pragma unroll
  for (int k = 0; k < Tiles; k += 2) {
    const uint32_t fa[4] = {pack_bf16(weights[k][0], weights[k][1]), pack_bf16(weights[k][2], weights[k][3]),
                            pack_bf16(weights[k + 1][0], weights[k + 1][1]),
                            pack_bf16(weights[k + 1][2], weights[k + 1][3])};
#pragma unroll
    for (int j = 0; j < Dim / 8; j += 2) {
      uint32_t fb[4];
      if (NMajor) {
        ldmatrix(fb, b + (8 * j + first_by_16()) * b_step + 8 * k + second_by_8());
      } else {
        ldmatrix_transposed(fb, b + (8 * k + first_by_8()) * b_step + 8 * j + second_by_16());
      }
      mma_bf16(sums[j], fa, {fb[0], fb[1]});
      mma_bf16(sums[j + 1], fa, {fb[2], fb[3]});
    }
  }
}

template <int Tiles>
__device__ __forceinline__ void clear(float (&sums)[Tiles][4]) {
#pragma unroll
  for (int j = 0; j < Tiles; j++)
#pragma unroll
    for (int e = 0; e < 4; e++) sums[j][e] = 0;
}

// Largest, or sum, over the four lanes that share a row.
template <class Op>
__device__ __forceinline__ float row_reduce(float v, Op op) {
  v = op(v, __shfl_xor_sync(all_lanes, v, 1));
  return op(v, __shfl_xor_sync(all_lanes, v, 2));
}

// Whether a query that sees `keys` keys sees key `key` of the tile at `pair`.
__device__ __forceinline__ bool sees(const AttentionInputs& in, int pair, int pair_end, int key, int keys) {
  const int p = pair + key / kv_block, slot = key % kv_block;
  return p < pair_end && slot < in.counts[p] && in.begins[p] + slot < keys;
}

template <int Dim>
__global__ void __launch_bounds__(tile_threads)
    attention_tiles(AttentionInputs in, const QueryTile* tiles, float* out, float* lse) {
  using Shape = TileShape<Dim>;
  VF_DYNAMIC_SHARED(memory);
  bf16_t* const queries = reinterpret_cast<bf16_t*>(memory);
  bf16_t* const keys = queries + Shape::queries;
  bf16_t* const values = keys + Shape::keys;
  const QueryTile t = tiles[blockIdx.x];
  const int kv_head = blockIdx.y, group = in.heads.q_heads / in.heads.kv_heads, count = t.rows * group;
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
  load_queries<Dim, tile_queries>(queries, in.q, in.heads, kv_head, t.row, 0, count);
  // this lane's two queries, and how many keys each sees
  const int m[2] = {warp_row + lane / 4, warp_row + lane / 4 + 8};
  const int seen[2] = {t.keys + m[0] / group, t.keys + m[1] / group};
  const float scale = in.scale * log2_e;
  float peak[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0}, sums[Dim / 8][4];
  clear(sums);
  for (int pair = t.pair_begin; pair < t.pair_end; pair += tile_blocks) {
    load_pairs<Dim>(keys, values, in, kv_head, pair, t.pair_end);
    __syncthreads();
    float scores[tile_keys / 8][4];
    clear(scores);
    multiply_shared<Dim, tile_keys / 8, true>(scores, queries, warp_row, Shape::query_step, keys, Shape::key_step);
    float largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int j = 0; j < tile_keys / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const bool visible = sees(in, pair, t.pair_end, 8 * j + lane % 4 * 2 + e % 2, seen[e / 2]);
        scores[j][e] = visible ? scores[j][e] * scale : -INFINITY;
        // a NaN among the scores is kept: it fails both comparisons
        largest[e / 2] = scores[j][e] <= largest[e / 2] ? largest[e / 2] : scores[j][e];
      }
    float shift[2], rescale[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float top = row_reduce(largest[i], LargerOf());
      const float next = top > peak[i] ? top : peak[i];
      shift[i] = next == -INFINITY ? 0.0f : next;
      rescale[i] = exp2f(peak[i] - shift[i]);
      peak[i] = next;
      total[i] *= rescale[i];
    }
#pragma unroll
    for (int j = 0; j < tile_keys / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        scores[j][e] = exp2f(scores[j][e] - shift[e / 2]);
        total[e / 2] += scores[j][e];
      }
#pragma unroll
    for (int j = 0; j < Dim / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sums[j][e] *= rescale[e / 2];
    multiply_weights<Dim, tile_keys / 8, false>(sums, scores, values, Shape::query_step);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float all = row_reduce(total[i], SumOf()), inverse = 1.0f / all;
    if (m[i] >= count) continue;
    const int64_t at = (static_cast<int64_t>(t.row) + m[i] / group) * in.heads.q_heads + kv_head * group + m[i] % group;
#pragma unroll
    for (int j = 0; j < Dim / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) out[at * Dim + 8 * j + lane % 4 * 2 + e] = sums[j][2 * i + e] * inverse;
    if (lse && lane % 4 == 0) lse[at] = (peak[i] + log2f(all)) * ln_2;
  }
}

// means[r, h] = dout . out
__global__ void __launch_bounds__(tile_threads)
    attention_means(int64_t count, int dim, const float* out, const float* dout, float* means) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (tile_threads / 32) + threadIdx.x / 32;
  if (at >= count) return;
  float sum = 0;
  for (int d = threadIdx.x % 32; d < dim; d += 32) sum += out[at * dim + d] * dout[at * dim + d];
  sum = warp_reduce(sum, SumOf());
  if (threadIdx.x % 32 == 0) means[at] = sum;
}

template <int Dim>
__global__ void __launch_bounds__(tile_threads)
    attention_tiles_dq(AttentionInputs in, const QueryTile* tiles, const float* lse, const float* means,
                       const float* dout, float* dq) {
  using Shape = TileShape<Dim>;
  VF_DYNAMIC_SHARED(memory);
  bf16_t* const queries = reinterpret_cast<bf16_t*>(memory);
  bf16_t* const douts = queries + Shape::queries;
  bf16_t* const keys = douts + Shape::queries;
  bf16_t* const values = keys + Shape::keys;
  const QueryTile t = tiles[blockIdx.x];
  const int kv_head = blockIdx.y, group = in.heads.q_heads / in.heads.kv_heads, count = t.rows * group;
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
  load_queries<Dim, tile_queries>(queries, in.q, in.heads, kv_head, t.row, 0, count);
  load_queries<Dim, tile_queries>(douts, dout, in.heads, kv_head, t.row, 0, count);
  // where this lane's query of sum row i stands: found again at the end, not held in registers
  const auto place = [&](int i) {
    const int m = warp_row + lane / 4 + 8 * i;
    return (static_cast<int64_t>(t.row) + m / group) * in.heads.q_heads + kv_head * group + m % group;
  };
  int seen[2];
  float log_sum[2], mean[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int m = warp_row + lane / 4 + 8 * i;
    seen[i] = m < count ? t.keys + m / group : 0;
    log_sum[i] = m < count ? lse[place(i)] * log2_e : 0.0f;
    mean[i] = m < count ? means[place(i)] : 0.0f;
  }
  float sums[Dim / 8][4];
  clear(sums);
  for (int pair = t.pair_begin; pair < t.pair_end; pair += tile_blocks) {
    load_pairs<Dim>(keys, values, in, kv_head, pair, t.pair_end);
    __syncthreads();
    float scores[tile_keys / 8][4], slopes[tile_keys / 8][4];
    clear(scores);
    clear(slopes);
    multiply_shared<Dim, tile_keys / 8, true>(scores, queries, warp_row, Shape::query_step, keys, Shape::key_step);
    multiply_shared<Dim, tile_keys / 8, false>(slopes, douts, warp_row, Shape::query_step, values, Shape::query_step);
#pragma unroll
    for (int j = 0; j < tile_keys / 8; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const bool visible = sees(in, pair, t.pair_end, 8 * j + lane % 4 * 2 + e % 2, seen[e / 2]);
        const float p = visible ? exp2f(scores[j][e] * in.scale * log2_e - log_sum[e / 2]) : 0.0f;
        slopes[j][e] = visible ? p * (slopes[j][e] - mean[e / 2]) * in.scale : 0.0f;
      }
    multiply_weights<Dim, tile_keys / 8, true>(sums, slopes, keys, Shape::key_step);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (warp_row + lane / 4 + 8 * i >= count) continue;
#pragma unroll
    for (int j = 0; j < Dim / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) dq[place(i) * Dim + 8 * j + lane % 4 * 2 + e] = sums[j][2 * i + e];
  }
}

// sums [16, 8 Tiles] += a b^T, a the 16 keys of this warp's block stored [Dim, 64 + 8], b stored [n, k].
template <int Dim, int Tiles>
__device__ __forceinline__ void multiply_keys(float (&sums)[Tiles][4], const bf16_t* keys, int key, const bf16_t* b) {
#pragma unroll
  for (int k = 0; k < Dim; k += 16) {
    uint32_t fa[4];
    ldmatrix_transposed(fa, keys + (k + first_by_16()) * TileShape<Dim>::key_step + key + second_by_8());
#pragma unroll
    for (int j = 0; j < Tiles; j += 2) {
      uint32_t fb[4];
      ldmatrix(fb, b + (8 * j + first_by_16()) * TileShape<Dim>::query_step + k + second_by_8());
      mma_bf16(sums[j], fa, {fb[0], fb[1]});
      mma_bf16(sums[j + 1], fa, {fb[2], fb[3]});
    }
  }
}

// A warp a KV block of the tile: walks all queries that see it, 32 at a time, in the order of runs and rows.
template <int Dim>
__global__ void __launch_bounds__(tile_threads)
    attention_tiles_dkv(AttentionInputs in, const KeyTile* tiles, const KeyUser* users, const float* lse,
                        const float* means, const float* dout, float* dkeys, float* dvalues) {
  using Shape = TileShape<Dim>;
  VF_DYNAMIC_SHARED(memory);
  bf16_t* const keys = reinterpret_cast<bf16_t*>(memory);
  bf16_t* const values = keys + Shape::keys;
  bf16_t* const queries = values + Shape::values;
  bf16_t* const douts = queries + Shape::key_tile_rows;
  float* const log_sums = reinterpret_cast<float*>(douts + Shape::key_tile_rows);
  float* const tile_means = log_sums + key_tile_queries;
  const KeyTile t = tiles[blockIdx.x];
  const int kv_head = blockIdx.y, group = in.heads.q_heads / in.heads.kv_heads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int part = 0; part < tile_blocks; part++) {
    // slots that nobody fills may hold anything: the longest count among the users bounds them
    int count = 0;
    for (int u = 0; u < t.users; u++)
      count = users[t.user_begin + u].counts[part] > count ? users[t.user_begin + u].counts[part] : count;
    load_kv_block<Dim>(keys, values, in, kv_head, t.blocks[part] < 0 ? 0 : t.blocks[part],
                       t.blocks[part] < 0 ? 0 : count, part);
  }
  cp_async_commit();
  cp_async_wait<0>();
  float key_sums[Dim / 8][4], value_sums[Dim / 8][4];
  clear(key_sums);
  clear(value_sums);
  for (int u = 0; u < t.users; u++) {
    const KeyUser& user = users[t.user_begin + u];
    const int queries_end = user.rows * group, my_begin = user.begins[warp],
              my_count = t.blocks[warp] < 0 ? 0 : user.counts[warp];
    const int first_row = user.begins[0] + 1 > user.keys ? user.begins[0] + 1 - user.keys : 0;
    for (int first = first_row * group; first < queries_end; first += key_tile_queries) {
      __syncthreads();
      load_queries<Dim, key_tile_queries>(queries, in.q, in.heads, kv_head, user.row, first, queries_end);
      load_queries<Dim, key_tile_queries>(douts, dout, in.heads, kv_head, user.row, first, queries_end);
      if (threadIdx.x < key_tile_queries) {
        const int m = first + threadIdx.x;
        const int64_t at =
            (static_cast<int64_t>(user.row) + m / group) * in.heads.q_heads + kv_head * group + m % group;
        log_sums[threadIdx.x] = m < queries_end ? lse[at] * log2_e : 0.0f;
        tile_means[threadIdx.x] = m < queries_end ? means[at] : 0.0f;
      }
      __syncthreads();
      float weights[key_tile_queries / 8][4], slopes[key_tile_queries / 8][4];
      clear(weights);
      clear(slopes);
      multiply_keys<Dim, key_tile_queries / 8>(weights, keys, warp * kv_block, queries);
      multiply_shared<Dim, key_tile_queries / 8, false>(slopes, values, warp * kv_block, Shape::query_step, douts,
                                                        Shape::query_step);
#pragma unroll
      for (int j = 0; j < key_tile_queries / 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
          const int slot = lane / 4 + e / 2 * 8, i = 8 * j + lane % 4 * 2 + e % 2, m = first + i;
          const bool visible = slot < my_count && m < queries_end && my_begin + slot < user.keys + m / group;
          const float p = visible ? exp2f(weights[j][e] * in.scale * log2_e - log_sums[i]) : 0.0f;
          weights[j][e] = p;
          slopes[j][e] = visible ? p * (slopes[j][e] - tile_means[i]) * in.scale : 0.0f;
        }
      multiply_weights<Dim, key_tile_queries / 8, false>(value_sums, weights, douts, Shape::query_step);
      multiply_weights<Dim, key_tile_queries / 8, false>(key_sums, slopes, queries, Shape::query_step);
    }
  }
  if (t.blocks[warp] < 0) return;
  const int64_t at = (static_cast<int64_t>(t.blocks[warp]) * in.heads.kv_heads + kv_head) * kv_block * Dim;
#pragma unroll
  for (int j = 0; j < Dim / 8; j++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int64_t to = at + (lane / 4 + e / 2 * 8) * Dim + 8 * j + lane % 4 * 2 + e % 2;
      dkeys[to] += key_sums[j][e];
      dvalues[to] += value_sums[j][e];
    }
}

}  // namespace vf
