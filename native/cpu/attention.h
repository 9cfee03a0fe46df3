// The table of the attention kernels; the kernels are in attention.inc.
#pragma once
#include "../ops/ops.h"

namespace vf {

struct AttentionKernels {};

}  // namespace vf
