// What every CPU op is given, and the ops themselves: one free function an op, wired to the contract in backend.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../ops/ops.h"
#include "kernels.h"
#include "pool.h"

namespace vf {

class WeightCache;

// Which of an op's scratch buffers: an op that calls another must not share a slot with it.
enum class Scratch : int { gemm_a, gemm_b, logits, head, attention, layers, count };

// Grow-only buffers, reused from call to call; contents are undefined. One op runs at a time.
class ScratchSet {
 public:
  ScratchSet() = default;
  ~ScratchSet();
  ScratchSet(const ScratchSet&) = delete;
  ScratchSet& operator=(const ScratchSet&) = delete;
  // 64-byte aligned; throws VF_OUT_OF_MEMORY. Call it outside parallel_for only; for a buffer a thread, ask for
  // threads * size (size a multiple of 64 bytes) and offset by the thread's number.
  void* get(Scratch slot, size_t bytes);
  float* floats(Scratch slot, int64_t count) { return static_cast<float*>(get(slot, count * sizeof(float))); }

 private:
  struct Buffer {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  Buffer buffers_[static_cast<int>(Scratch::count)];
};

struct CpuContext {
  Pool& pool;
  const KernelTable& k;
  ScratchSet& scratch;
  WeightCache& weights;
  bool bf16;
};

// 64-byte aligned memory, not zeroed; throws VF_OUT_OF_MEMORY with the bytes asked for. 0 bytes gives a valid block.
void* allocate_aligned(size_t bytes);
void release_aligned(void* memory) noexcept;

void cpu_embed(CpuContext&, const EmbedArgs&);
void cpu_embed_backward(CpuContext&, const EmbedBackwardArgs&);
void cpu_rmsnorm(CpuContext&, const RmsNormArgs&);
void cpu_rmsnorm_backward(CpuContext&, const RmsNormBackwardArgs&);
void cpu_matmul(CpuContext&, const MatmulArgs&);
void cpu_matmul_input_grad(CpuContext&, const MatmulInputGradArgs&);
void cpu_matmul_weight_grad(CpuContext&, const MatmulWeightGradArgs&);
void cpu_qkv(CpuContext&, const QkvArgs&);
void cpu_qkv_backward(CpuContext&, const QkvBackwardArgs&);
void cpu_attention(CpuContext&, const AttentionArgs&);
void cpu_attention_backward(CpuContext&, const AttentionBackwardArgs&);
void cpu_swiglu(CpuContext&, const SwigluArgs&);
void cpu_swiglu_backward(CpuContext&, const SwigluBackwardArgs&);
void cpu_gather_rows(CpuContext&, const GatherRowsArgs&);
void cpu_scatter_rows(CpuContext&, const ScatterRowsArgs&);
void cpu_logprob(CpuContext&, const LogprobArgs&);
void cpu_logprob_loss(CpuContext&, const LogprobLossArgs&);
void cpu_policy_weights(CpuContext&, const PolicyWeightsArgs&);
void cpu_adamw(CpuContext&, const AdamWArgs&);
double cpu_squared_norm(CpuContext&, const float* x, int64_t count);
void cpu_sample(CpuContext&, const SampleArgs&);

}  // namespace vf
