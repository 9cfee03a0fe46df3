// Stands in for the CUDA backend in builds without it, so that nobody else asks how this build was made.
#include "../core/error.h"
#include "backend.h"

namespace vf {

static const char* const remedy = "this build has no CUDA: `vf build --cuda` compiles it in";

std::unique_ptr<Ops> make_cuda_backend(const CudaOptions&) {
  throw Error("VF_NO_DEVICE", std::string("Expected a usable GPU but received: ") + remedy);
}

CudaInfo cuda_info() {
  CudaInfo info;
  info.reason = remedy;
  return info;
}

}  // namespace vf
