// The CPU backend: chooses the kernels and wires the ops to the contract.
#include "backend.h"

#include <cstdlib>
#include <cstring>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "../core/error.h"
#include "cpu_ops.h"
#include "weight_cache.h"

namespace vf {

namespace {

constexpr size_t alignment = 64;
// Where Linux gives huge pages to those who ask, large blocks do: a first touch then faults once in 2 MB.
constexpr size_t huge_page = size_t{1} << 21, huge_block = 4 * huge_page;

bool cpu_has(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512")
    return kernels_avx512() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && cpu_has("avx2");
  if (isa == "avx2") return kernels_avx2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return isa == "base";
}

const KernelTable& choose_kernels(const std::string& asked) {
  const std::string isa = asked.empty() ? cpu_isa() : asked;
  require(isa == "avx512" || isa == "avx2" || isa == "base", "VF_UNSUPPORTED",
          "Expected avx512, avx2 or base for isa but received " + isa);
  require(cpu_has(isa), "VF_UNSUPPORTED", "Expected a CPU with " + isa + " but this one's best is " + cpu_isa());
  return isa == "avx512" ? *kernels_avx512() : isa == "avx2" ? *kernels_avx2() : *kernels_base();
}

// A block carries its size in the 64 bytes before it.
size_t block_bytes(const void* memory) {
  size_t bytes;
  std::memcpy(&bytes, static_cast<const char*>(memory) - alignment, sizeof bytes);
  return bytes;
}

class CpuOps final : public Ops {
 public:
  explicit CpuOps(const CpuOptions& options)
      : pool_(options.threads), context_{pool_, choose_kernels(options.isa), scratch_, weights_, options.bf16} {
    if (!options.bf16) return;
    require(context_.k.gemm.packed_product_bf16 && cpu_has_bf16(), "VF_UNSUPPORTED",
            std::string("Expected a CPU with AVX512-BF16 for bf16 but the kernels are ") + context_.k.isa +
                (cpu_has_bf16() ? "" : " on a CPU without it"));
  }

  const char* name() const override { return "cpu"; }
  const char* products() const override { return context_.bf16 ? "own bf16 products" : "own f32 products"; }

  void* allocate(size_t bytes) override { return allocate_aligned(bytes); }
  void release(void* memory) noexcept override {
    if (!memory) return;
    weights_.forget(memory, block_bytes(memory));
    release_aligned(memory);
  }
  void upload(void* device, const void* host, size_t bytes) override { copy(device, host, bytes); }
  void download(void* host, const void* device, size_t bytes) override { copy(host, device, bytes); }
  void copy(void* to, const void* from, size_t bytes) override {
    each_share(bytes, [&](size_t at, size_t n) {
      std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, n);
    });
  }
  void zero(void* memory, size_t bytes) override {
    each_share(bytes, [&](size_t at, size_t n) { std::memset(static_cast<char*>(memory) + at, 0, n); });
  }
  void synchronize() override {}
  int kv_element_bytes() const override { return sizeof(float); }
  void weights_changed() override { weights_.weights_changed(); }

  void embed(const EmbedArgs& a) override { cpu_embed(context_, a); }
  void embed_backward(const EmbedBackwardArgs& a) override { cpu_embed_backward(context_, a); }
  void rmsnorm(const RmsNormArgs& a) override { cpu_rmsnorm(context_, a); }
  void rmsnorm_backward(const RmsNormBackwardArgs& a) override { cpu_rmsnorm_backward(context_, a); }
  void matmul(const MatmulArgs& a) override { cpu_matmul(context_, a); }
  void matmul_input_grad(const MatmulInputGradArgs& a) override { cpu_matmul_input_grad(context_, a); }
  void matmul_weight_grad(const MatmulWeightGradArgs& a) override { cpu_matmul_weight_grad(context_, a); }
  void qkv(const QkvArgs& a) override { cpu_qkv(context_, a); }
  void qkv_backward(const QkvBackwardArgs& a) override { cpu_qkv_backward(context_, a); }
  void attention(const AttentionArgs& a) override { cpu_attention(context_, a); }
  void attention_backward(const AttentionBackwardArgs& a) override { cpu_attention_backward(context_, a); }
  void swiglu(const SwigluArgs& a) override { cpu_swiglu(context_, a); }
  void swiglu_backward(const SwigluBackwardArgs& a) override { cpu_swiglu_backward(context_, a); }
  void gather_rows(const GatherRowsArgs& a) override { cpu_gather_rows(context_, a); }
  void scatter_rows(const ScatterRowsArgs& a) override { cpu_scatter_rows(context_, a); }
  void logprob(const LogprobArgs& a) override { cpu_logprob(context_, a); }
  void logprob_loss(const LogprobLossArgs& a) override { cpu_logprob_loss(context_, a); }
  void policy_weights(const PolicyWeightsArgs& a) override { cpu_policy_weights(context_, a); }
  void adamw(const AdamWArgs& a) override { cpu_adamw(context_, a); }
  double squared_norm(const float* x, int64_t count) override { return cpu_squared_norm(context_, x, count); }
  void sample(const SampleArgs& a) override { cpu_sample(context_, a); }

 private:
  // Calls body(begin, count) for shares of a block of bytes.
  template <class Body>
  void each_share(size_t bytes, const Body& body) {
    constexpr size_t share = size_t{1} << 18;
    pool_.parallel_for(static_cast<int64_t>((bytes + share - 1) / share), [&](int64_t task, int) {
      const size_t begin = static_cast<size_t>(task) * share;
      body(begin, bytes - begin < share ? bytes - begin : share);
    });
  }

  Pool pool_;
  ScratchSet scratch_;
  WeightCache weights_;
  CpuContext context_;
};

}  // namespace

void* allocate_aligned(size_t bytes) {
  const size_t unit = bytes < huge_block ? alignment : huge_page;
  const size_t whole = (alignment + bytes + unit - 1) / unit * unit;
  void* block = whole < bytes ? nullptr : std::aligned_alloc(unit, whole);
  require(block != nullptr, "VF_OUT_OF_MEMORY",
          "Expected " + std::to_string(bytes) + " bytes but the system has none left");
#if defined(__linux__)
  if (unit == huge_page) (void)::madvise(block, whole, MADV_HUGEPAGE);  // a wish: refused, the block still serves
#endif
  std::memcpy(block, &bytes, sizeof bytes);
  return static_cast<char*>(block) + alignment;
}

void release_aligned(void* memory) noexcept {
  if (memory) std::free(static_cast<char*>(memory) - alignment);
}

ScratchSet::~ScratchSet() {
  for (Buffer& b : buffers_) release_aligned(b.memory);
}

void* ScratchSet::get(Scratch slot, size_t bytes) {
  Buffer& b = buffers_[static_cast<int>(slot)];
  if (!b.memory || b.bytes < bytes) {
    release_aligned(b.memory);
    b = Buffer();
    b.memory = allocate_aligned(bytes);
    b.bytes = bytes;
  }
  return b.memory;
}

std::string cpu_isa() { return cpu_has("avx512") ? "avx512" : cpu_has("avx2") ? "avx2" : "base"; }

bool cpu_has_bf16() {
#if defined(__x86_64__)
  return cpu_has("avx512") && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

std::vector<std::pair<std::string, double>> cpu_constants() {
  std::vector<std::pair<std::string, double>> list = {{"gemm_k_block", gemm_kc},
                                                      {"vocab_chunk", vocab_chunk},
                                                      {"kv_block", kv_block},
                                                      {"logprob_rows", logprob_rows},
                                                      {"attention_tile", attention_tile},
                                                      {"attention_chunk", attention_chunk},
                                                      {"layer_gradient_rows", layer_gradient_rows}};
  for (const KernelTable* t : {kernels_avx512(), kernels_avx2(), kernels_base()}) {
    if (!t) continue;
    const std::string isa = t->isa;
    list.emplace_back("gemm_rows_" + isa, t->gemm.mr);
    list.emplace_back("gemm_columns_" + isa, t->gemm.nr);
    list.emplace_back("gemm_row_block_" + isa, t->gemm.mc);
    list.emplace_back("gemm_column_block_" + isa, t->gemm.nc);
  }
  return list;
}

std::unique_ptr<Ops> make_cpu_backend(const CpuOptions& options) { return std::make_unique<CpuOps>(options); }

}  // namespace vf
