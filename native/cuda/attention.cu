// Attention over the KV store, forward and backward: tensor-core tiles where the policy is bf16 and the heads are 64 or
// 128 wide, else rows in f32; decoding rows always by rows.
#include <algorithm>
#include <string>

#include "attention_rows.cuh"
#include "graphs.h"

namespace vf {

namespace {

void require_heads(const Heads& h) {
  require(h.head_dim > 0 && h.head_dim <= max_head_dim && h.kv_heads > 0 && h.q_heads % h.kv_heads == 0,
          "VF_UNSUPPORTED",
          "Expected a head_dim of at most " + std::to_string(max_head_dim) +
              " and q_heads a multiple of kv_heads but received head_dim " + std::to_string(h.head_dim) + ", q_heads " +
              std::to_string(h.q_heads) + ", kv_heads " + std::to_string(h.kv_heads));
}

bool has_tiles(const CudaContext& c, const Heads& h) {
  return c.bf16 && (h.head_dim == 64 || h.head_dim == 128) && h.q_heads / h.kv_heads <= tile_queries;
}

unsigned count_of(int32_t n) { return static_cast<unsigned>(n); }

template <class Kernel>
void allow_shared(Kernel* kernel, size_t bytes) {
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "shared memory of attention");
}

// The plan of these tables, from the last call where nothing was uploaded since.
const AttentionPlan& current_plan(CudaContext& c, const Heads& h, const KvViews& views, const AttentionRuns& runs,
                                  bool tiles, bool backward) {
  CachedPlan& cached = backward ? c.plans->backward : c.plans->forward;
  const int32_t group = h.q_heads / h.kv_heads;
  if (cached.version != c.tables.version() || cached.padded != c.padded_plans || cached.runs != runs.runs ||
      cached.views != views.offsets || cached.count != runs.count || cached.group != group) {
    cached.plan = plan_attention(c, h, views, runs, tiles, backward);
    cached.version = c.tables.version();
    cached.padded = c.padded_plans;
    cached.runs = runs.runs;
    cached.views = views.offsets;
    cached.count = runs.count;
    cached.group = group;
  }
  return cached.plan;
}

template <int Dim>
void launch_tiles(CudaContext& c, const AttentionInputs& in, const AttentionPlan& plan, float* out, float* lse) {
  allow_shared(attention_tiles<Dim>, TileShape<Dim>::forward_bytes);
  VF_LAUNCH((attention_tiles<Dim>), dim3(count_of(plan.tiles.count), count_of(in.heads.kv_heads)), dim3(tile_threads),
            TileShape<Dim>::forward_bytes, c.stream, in, plan.tiles.data, out, lse);
}

template <int Dim>
void launch_tiles_backward(CudaContext& c, const AttentionInputs& in, const AttentionPlan& plan,
                           const AttentionBackwardArgs& a, const float* means) {
  allow_shared(attention_tiles_dq<Dim>, TileShape<Dim>::backward_bytes);
  allow_shared(attention_tiles_dkv<Dim>, TileShape<Dim>::key_bytes);
  VF_LAUNCH((attention_tiles_dq<Dim>), dim3(count_of(plan.tiles.count), count_of(in.heads.kv_heads)),
            dim3(tile_threads), TileShape<Dim>::backward_bytes, c.stream, in, plan.tiles.data, a.lse, means, a.dout,
            a.dq);
  VF_LAUNCH((attention_tiles_dkv<Dim>), dim3(count_of(plan.key_tiles.count), count_of(in.heads.kv_heads)),
            dim3(tile_threads), TileShape<Dim>::key_bytes, c.stream, in, plan.key_tiles.data, plan.key_users.data,
            a.lse, means, a.dout, a.dkeys, a.dvalues);
}

template <class Kv>
void launch_rows(CudaContext& c, const AttentionInputs& in, const AttentionPlan& plan, float* out, float* lse) {
  float* parts = c.scratch.get<float>(CudaScratch::attention,
                                      static_cast<int64_t>(plan.parts) * in.heads.q_heads * (in.heads.head_dim + 2));
  const unsigned head_parts = blocks_of(in.heads.q_heads / in.heads.kv_heads, row_heads);
  VF_LAUNCH((attention_rows<Kv>), dim3(count_of(plan.rows.count), count_of(in.heads.kv_heads), head_parts),
            dim3(row_threads), row_bytes(in.heads.head_dim), c.stream, in, plan.rows.data, parts, out, lse);
  if (plan.combines.count > 0)
    VF_LAUNCH((combine_parts), dim3(count_of(plan.combines.count), count_of(in.heads.q_heads)), dim3(row_threads), 0,
              c.stream, in, plan.combines.data, parts, out, lse);
}

template <class Kv>
void launch_rows_backward(CudaContext& c, const AttentionInputs& in, const AttentionPlan& plan,
                          const AttentionBackwardArgs& a, const float* means) {
  const int dim = in.heads.head_dim;
  const unsigned head_parts = blocks_of(in.heads.q_heads / in.heads.kv_heads, row_heads);
  VF_LAUNCH((attention_rows_dq<Kv>), dim3(count_of(plan.rows.count), count_of(in.heads.kv_heads), head_parts),
            dim3(row_threads), row_bytes(dim) + sizeof(float) * row_heads * dim, c.stream, in, plan.rows.data, a.lse,
            means, a.dout, a.dq);
  VF_LAUNCH((attention_rows_dkv<Kv>), dim3(count_of(plan.key_tiles.count), count_of(in.heads.kv_heads), tile_blocks),
            dim3(row_threads), sizeof(float) * (2 * dim + 2 * kv_block), c.stream, in, plan.key_tiles.data,
            plan.key_users.data, a.lse, means, a.dout, a.dkeys, a.dvalues);
}

}  // namespace

GraphKey plan_decode_pass(CudaContext& c, const DecodePass& pass) {
  require_heads(pass.heads);
  const AttentionPlan& plan = current_plan(c, pass.heads, pass.views, pass.runs, has_tiles(c, pass.heads), false);
  return {pass.rows, plan.begins.count, plan.rows.count, plan.combines.count};
}

void cuda_attention(CudaContext& c, const AttentionArgs& a) {
  require_heads(a.heads);
  if (a.runs.count == 0) return;
  const AttentionPlan& plan = current_plan(c, a.heads, a.views, a.runs, has_tiles(c, a.heads), false);
  const AttentionInputs in{a.heads,        a.scale,         a.q, a.store.keys, a.store.values, a.views.blocks,
                           a.views.counts, plan.begins.data};
  if (plan.tiles.count > 0) {
    if (a.heads.head_dim == 64) launch_tiles<64>(c, in, plan, a.out, a.lse);
    if (a.heads.head_dim == 128) launch_tiles<128>(c, in, plan, a.out, a.lse);
  }
  if (plan.rows.count > 0) {
    c.bf16 ? launch_rows<bf16_t>(c, in, plan, a.out, a.lse) : launch_rows<float>(c, in, plan, a.out, a.lse);
  }
  cuda_check_launch("attention");
}

void cuda_attention_backward(CudaContext& c, const AttentionBackwardArgs& a) {
  require_heads(a.heads);
  if (a.runs.count == 0) return;
  const bool tiles = has_tiles(c, a.heads);
  const AttentionPlan& plan = current_plan(c, a.heads, a.views, a.runs, tiles, true);
  const AttentionInputs in{a.heads,        a.scale,         a.q, a.store.keys, a.store.values, a.views.blocks,
                           a.views.counts, plan.begins.data};
  const int64_t rows = static_cast<int64_t>(plan.most_rows) * a.heads.q_heads;
  const int dim = a.heads.head_dim;
  float* means = c.scratch.get<float>(CudaScratch::attention, rows);
  VF_LAUNCH((attention_means), dim3(blocks_of(rows, tile_threads / 32)), dim3(tile_threads), 0, c.stream, rows, dim,
            a.out, a.dout, means);
  if (tiles) {
    if (dim == 64) launch_tiles_backward<64>(c, in, plan, a, means);
    if (dim == 128) launch_tiles_backward<128>(c, in, plan, a, means);
  } else {
    c.bf16 ? launch_rows_backward<bf16_t>(c, in, plan, a, means) : launch_rows_backward<float>(c, in, plan, a, means);
  }
  cuda_check_launch("attention_backward");
}

}  // namespace vf
