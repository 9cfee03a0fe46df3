// Every kernel compiled for the compiler's default processor.
#define VF_ISA base
#include "kernels.inc"

namespace vf {

const KernelTable* kernels_base() { return &VF_ISA::table; }

}  // namespace vf
