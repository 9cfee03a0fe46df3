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

struct CudaDevice {
  std::string name;
  double bytes;  // of its memory
};

// A thing that waits behind a switch until hardware has shown it right.
struct CudaSwitch {
  std::string name, state;
};

struct CudaInfo {
  bool compiled = false;
  bool simulated = false;           // a test build: the kernels run on the CPU, as device cuda-sim
  std::vector<CudaDevice> devices;  // empty where none can be used
  std::string reason;               // why none can be used
  std::vector<CudaSwitch> switches;
};

// Throws VF_NO_DEVICE with the reason when the device can't be used.
std::unique_ptr<Ops> make_cuda_backend(const CudaOptions& options);
CudaInfo cuda_info();
// Recorded decode passes that a CUDA backend has launched.
int64_t recorded_launches(const Ops& cuda);
// Blocks of device memory that a CUDA backend has handed out and taken back, its own scratch among them.
uint64_t memory_changes(const Ops& cuda);

}  // namespace vf
