// Makes the CUDA backend, and says what of a GPU is here. Includes no CUDA header: the addon needs none.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../ops/ops.h"

namespace vf {

struct CudaOptions {
  int device = 0;
  bool bf16 = true;  // else f32 throughout, without tensor cores
};

struct CudaInfo {
  std::vector<std::string> devices;                           // names; empty where none can be used
  std::string reason;                                         // why none can be used
  std::vector<std::pair<std::string, std::string>> switches;  // what waits for hardware, and its state
};

// Throws VF_NO_DEVICE with the reason when the device can't be used.
std::unique_ptr<Ops> make_cuda_backend(const CudaOptions& options);
CudaInfo cuda_info();

}  // namespace vf
