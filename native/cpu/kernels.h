// Tables of kernels, one an instruction set: plain function pointers, so that no code compiled for a newer CPU can be
// reached on an older one. Every room fills its own table in its .inc file.
#pragma once
#include <cstdint>

#include "../ops/ops.h"
#include "attention.h"
#include "gemm.h"
#include "layers.h"
#include "rows.h"

namespace vf {

struct KernelTable {
  const char* isa;
  GemmKernels gemm;
  RowKernels rows;
  LayerKernels layers;
  AttentionKernels attention;
};

// Null where the build has no such set (other than x86-64).
const KernelTable* kernels_avx512();
const KernelTable* kernels_avx2();
const KernelTable* kernels_base();

}  // namespace vf
