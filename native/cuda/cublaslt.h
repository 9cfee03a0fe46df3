// cuBLASLt's matrix product, opened at run time: no header or library of it is needed to build.
#pragma once
#include <string>

#include "gemm.h"

namespace vf {

class CublasLt {
 public:
  // Opens the library; throws VF_ENGINE with the loader's words when it can't.
  CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt();
  void multiply(CudaContext&, const Gemm&);

 private:
  struct Library;
  Library* library_;
  void* handle_ = nullptr;
};

}  // namespace vf
