// Makes the CPU backend.
#pragma once
#include <memory>
#include <string>

#include "../ops/ops.h"

namespace vf {

struct CpuOptions {
  int threads = 1;
  bool bf16 = false;     // weights and products in bf16 where the CPU has AVX512-BF16, else an error
  std::string isa;       // "", "avx512", "avx2", "base": "" takes the best the CPU has
};

// Throws VF_UNSUPPORTED when the CPU lacks what was asked for.
std::unique_ptr<Ops> make_cpu_backend(const CpuOptions& options);
// The best instruction set this CPU has: "avx512", "avx2" or "base".
std::string cpu_isa();
bool cpu_has_bf16();

}  // namespace vf
