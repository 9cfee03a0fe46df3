// Every kernel compiled for avx512; empty on other processors.
#define VF_ISA avx512
#if defined(__AVX512F__)
#include "kernels.inc"
#else
#include "kernels.h"
#endif

namespace vf {

const KernelTable* kernels_avx512() {
#if defined(__AVX512F__)
  return &VF_ISA::table;
#else
  return nullptr;
#endif
}

}  // namespace vf
