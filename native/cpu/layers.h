// The table of the element-wise and row-wise kernels of a model's layers; the kernels are in layers.inc.
#pragma once
#include "../ops/ops.h"

namespace vf {

struct LayerKernels {};

}  // namespace vf
