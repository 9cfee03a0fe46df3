// Makes the CPU backend.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../ops/ops.h"

namespace vf {

struct CpuOptions {
  int threads = 1;
  bool bf16 = false;  // weights and products in bf16 where the CPU has AVX512-BF16, else an error
  std::string isa;    // "", "avx512", "avx2", "base": "" takes the best the CPU has
};

// Throws VF_UNSUPPORTED when the CPU lacks what was asked for.
std::unique_ptr<Ops> make_cpu_backend(const CpuOptions& options);
// The best instruction set this CPU has: "avx512", "avx2" or "base".
std::string cpu_isa();
bool cpu_has_bf16();
// Block sizes of the kernels ("gemm_k_block", "gemm_rows_avx512", "vocab_chunk", "kv_block", …): the borders that the
// invariance tests must cross.
std::vector<std::pair<std::string, double>> cpu_constants();

}  // namespace vf
