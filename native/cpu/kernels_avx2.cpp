// Every kernel compiled for avx2; empty on other processors.
#define VF_ISA avx2
#if defined(__AVX2__)
#include "kernels.inc"
#else
#include "kernels.h"
#endif

namespace vf {

const KernelTable* kernels_avx2() {
#if defined(__AVX2__)
  return &VF_ISA::table;
#else
  return nullptr;
#endif
}

}  // namespace vf
