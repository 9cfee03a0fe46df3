// Rotary position tables (Su et al. 2021), with the linear and llama3 scalings of Hugging Face configs.
#pragma once
#include <vector>

#include "spec.h"

namespace vf {

// cos and sin of position * inverse frequency, each [positions, head_dim / 2]; computed in double, stored in f32.
struct RopeTables {
  std::vector<float> cos, sin;
};
RopeTables rope_tables(const Spec& spec, int32_t positions);

}  // namespace vf
