// cuBLASLt by dlopen (cublaslt.h). The types and numbers are those of cublasLt.h, stable since CUDA 11.
#include "cublaslt.h"

#include <dlfcn.h>

namespace vf {

namespace {

using Handle = void*;
enum : int { compute_f32 = 68, type_f32 = 0, type_bf16 = 14, op_none = 0, op_transpose = 1 };
enum : int {
  desc_transpose_a = 3,
  desc_transpose_b = 4,
  preference_workspace = 1,
  preference_reductions = 3,
  preference_align_c = 7,
  preference_align_d = 8
};
constexpr size_t workspace_bytes = size_t{32} << 20;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

void lt_check(int status, const char* what) {
  require(status == 0, "VF_ENGINE",
          std::string("Expected cuBLASLt's ") + what + " to succeed but received status " + std::to_string(status));
}

}  // namespace

struct CublasLt::Library {
  void* file = nullptr;
  int (*create)(Handle*);
  int (*destroy)(Handle);
  int (*desc_create)(void**, int, int);
  int (*desc_destroy)(void*);
  int (*desc_set)(void*, int, const void*, size_t);
  int (*layout_create)(void**, int, uint64_t, uint64_t, int64_t);
  int (*layout_destroy)(void*);
  int (*preference_create)(void**);
  int (*preference_destroy)(void*);
  int (*preference_set)(void*, int, const void*, size_t);
  int (*heuristic)(Handle, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*);
  int (*matmul)(Handle, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const Algorithm*, void*, size_t, cudaStream_t);

  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(file, name));
    require(function != nullptr, "VF_ENGINE", std::string("Expected cuBLASLt to have ") + name + " but it has not");
  }
};

CublasLt::CublasLt() : library_(new Library) {
  Library& l = *library_;
  std::string reason;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (l.file) break;
    l.file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!l.file) reason = dlerror();
  }
  if (!l.file) {
    delete library_;
    throw Error("VF_ENGINE", "Expected to open cuBLASLt but received: " + reason);
  }
  l.find(l.create, "cublasLtCreate");
  l.find(l.destroy, "cublasLtDestroy");
  l.find(l.desc_create, "cublasLtMatmulDescCreate");
  l.find(l.desc_destroy, "cublasLtMatmulDescDestroy");
  l.find(l.desc_set, "cublasLtMatmulDescSetAttribute");
  l.find(l.layout_create, "cublasLtMatrixLayoutCreate");
  l.find(l.layout_destroy, "cublasLtMatrixLayoutDestroy");
  l.find(l.preference_create, "cublasLtMatmulPreferenceCreate");
  l.find(l.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  l.find(l.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  l.find(l.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  l.find(l.matmul, "cublasLtMatmul");
  lt_check(l.create(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() {
  if (handle_) library_->destroy(handle_);
  delete library_;  // the library itself stays open: unloading it while the driver lives is unsafe
}

// Column-major: c^T [n, m] = b a^T, so b comes first and is transposed where it is stored [n, k].
void CublasLt::multiply(CudaContext& c, const Gemm& g) {
  const Library& l = *library_;
  struct Object {
    void* p = nullptr;
    int (*destroy)(void*);
    ~Object() {
      if (p) destroy(p);
    }
  };
  Object desc{nullptr, l.desc_destroy}, first{nullptr, l.layout_destroy}, second{nullptr, l.layout_destroy},
      out{nullptr, l.layout_destroy}, preference{nullptr, l.preference_destroy};
  lt_check(l.desc_create(&desc.p, compute_f32, type_f32), "cublasLtMatmulDescCreate");
  const int first_op = g.b_transposed ? op_none : op_transpose, second_op = g.a_transposed ? op_transpose : op_none;
  lt_check(l.desc_set(desc.p, desc_transpose_a, &first_op, sizeof first_op), "transpose");
  lt_check(l.desc_set(desc.p, desc_transpose_b, &second_op, sizeof second_op), "transpose");
  const auto layout = [&](Object& o, int type, int64_t rows, int64_t columns, int64_t ld) {
    lt_check(l.layout_create(&o.p, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), ld),
             "cublasLtMatrixLayoutCreate");
  };
  layout(first, type_bf16, g.b_transposed ? g.n : g.k, g.b_transposed ? g.k : g.n, g.ldb);
  layout(second, type_bf16, g.a_transposed ? g.m : g.k, g.a_transposed ? g.k : g.m, g.lda);
  layout(out, type_f32, g.n, g.m, g.ldc);
  lt_check(l.preference_create(&preference.p), "cublasLtMatmulPreferenceCreate");
  // no reduction across blocks: the same bits every run
  const uint64_t workspace = workspace_bytes;
  const uint32_t reductions = 0;
  lt_check(l.preference_set(preference.p, preference_workspace, &workspace, sizeof workspace), "workspace");
  lt_check(l.preference_set(preference.p, preference_reductions, &reductions, sizeof reductions), "reductions");
  uint32_t alignment = 256;
  while (alignment > 4 && reinterpret_cast<uintptr_t>(g.c) % alignment != 0) alignment /= 2;
  for (const int attribute : {preference_align_c, preference_align_d})
    lt_check(l.preference_set(preference.p, attribute, &alignment, sizeof alignment), "alignment");
  Heuristic found{};
  int count = 0;
  lt_check(l.heuristic(handle_, desc.p, first.p, second.p, out.p, out.p, preference.p, 1, &found, &count),
           "cublasLtMatmulAlgoGetHeuristic");
  require(count > 0, "VF_ENGINE", "Expected cuBLASLt to know an algorithm for the product but it knows none");
  const float alpha = 1, beta = g.accumulate ? 1.0f : 0.0f;
  void* memory = c.scratch.get<char>(CudaScratch::workspace, static_cast<int64_t>(workspace_bytes));
  lt_check(l.matmul(handle_, desc.p, &alpha, g.b, first.p, g.a, second.p, &beta, g.c, out.p, g.c, out.p,
                    &found.algorithm, memory, workspace_bytes, c.stream),
           "cublasLtMatmul");
}

}  // namespace vf
