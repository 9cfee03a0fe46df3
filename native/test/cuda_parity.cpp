// The parity table: every op of the CUDA backend against the CPU's, forward and gradient, f32 and bf16. Through the
// shim on a CPU, and as it stands on a GPU. VF_PARITY_ALL=1 prints every row, VF_PARITY_SMALL=1 runs the short table,
// an argument names one family of ops.
#include "cuda_parity.h"

using namespace vf_test;

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const auto cpu = vf::make_cpu_backend({});
  int rows = 0, failed = 0;
  for (const bool bf16 : {false, true}) {
    const auto cuda = vf::make_cuda_backend({0, bf16});
    Parity p{*cpu, *cuda, bf16, std::getenv("VF_PARITY_SMALL") != nullptr};
    const std::pair<const char*, void (*)(Parity&)> families[] = {
        {"layers", parity_layers},   {"matmul", parity_matmul}, {"attention", parity_attention},
        {"logprob", parity_logprob}, {"policy", parity_policy}, {"sample", parity_sample}};
    for (const auto& [name, run] : families)
      if (only.empty() || only == name) run(p);
    rows += p.rows;
    failed += p.failed;
  }
  std::printf("parity on %s: %d rows, %d failed\n", vf::make_cuda_backend({})->name(), rows, failed);
  return failed == 0 && rows > 0 ? 0 : 1;
}
