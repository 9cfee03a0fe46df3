// What every CUDA op is given, and the ops themselves: one free function an op, wired to the contract in backend.cu.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "../core/error.h"
#include "../ops/ops.h"
#include "instructions.cuh"

namespace vf {

// Throws VF_ENGINE with the op's name and the runtime's words when `error` is one.
void cuda_check(cudaError_t error, const char* what);
// The state after a launch: a bad configuration shows here, a fault inside a kernel at the next wait.
void cuda_check_launch(const char* op);

// Device memory with its sizes. Small blocks are kept when released, so that a step's many small tables cost no call.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();
  // 256-byte aligned, not zeroed; throws VF_OUT_OF_MEMORY with what was asked for and what was free.
  void* allocate(size_t bytes);
  // Returns the block's size.
  size_t release(void* memory) noexcept;
  // Grows whenever a block is given out or taken back.
  uint64_t changes() const { return changes_; }

 private:
  void drop_kept() noexcept;
  std::unordered_map<void*, size_t> sizes_;
  std::multimap<size_t, void*> kept_;
  uint64_t changes_ = 0;
};

// Which of an op's scratch buffers: an op that calls another must not share a slot with it.
enum class CudaScratch : int {
  operand_a,
  operand_b,
  partials,
  logits,
  layers,
  attention,
  forward_tables,
  backward_tables,
  rows,
  stats,
  uniform,
  ids,
  policy,
  norm,
  workspace,
  count
};

// Grow-only buffers, reused from call to call; contents are undefined.
class CudaScratchSet {
 public:
  explicit CudaScratchSet(DeviceMemory& memory) : memory_(memory) {}
  CudaScratchSet(const CudaScratchSet&) = delete;
  CudaScratchSet& operator=(const CudaScratchSet&) = delete;
  ~CudaScratchSet();
  template <class T>
  T* get(CudaScratch slot, int64_t count) {
    return static_cast<T*>(bytes(slot, static_cast<size_t>(count > 0 ? count : 1) * sizeof(T)));
  }

 private:
  void* bytes(CudaScratch slot, size_t size);
  struct Piece {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  DeviceMemory& memory_;
  Piece pieces_[static_cast<int>(CudaScratch::count)];
};

// The newest tables that were uploaded, as they were: an op plans its launch from them without waiting for the device.
class HostTables {
 public:
  void remember(const void* device, const void* host, size_t bytes);
  void forget(const void* device, size_t bytes);
  // Null when the table isn't among the newest.
  const void* find(const void* device, size_t bytes) const;
  // Changes whenever a table does.
  uint64_t version() const { return version_; }

 private:
  struct Table {
    const char* device;
    std::vector<char> bytes;
  };
  std::list<Table> tables_;
  uint64_t version_ = 0;
};

// bf16 copies of weight matrices, rows padded to a multiple of 8 with zeros; made at first use after a change.
struct WeightCopy {
  bf16_t* data = nullptr;
  int64_t rows = 0, columns = 0;
  bool fresh = false;
};

class CublasLt;
struct AttentionPlans;

struct CudaContext {
  cudaStream_t stream = nullptr;
  bool bf16 = true;
  int processors = 1;
  DeviceMemory memory;
  CudaScratchSet scratch{memory};
  HostTables tables;
  std::unordered_map<const float*, WeightCopy> weights;
  CublasLt* lt = nullptr;  // null: the own kernels only
  AttentionPlans* plans = nullptr;
  bool padded_plans = false;  // the tables of attention's plan have one of few sizes: a pass that may be recorded

  // `count` elements of a table in device memory, from the host's own copy of it where that is at hand.
  template <class T>
  std::vector<T> host_table(const T* device, int64_t count) {
    std::vector<T> out(static_cast<size_t>(count));
    const void* known = tables.find(device, out.size() * sizeof(T));
    if (known && count > 0) {
      std::memcpy(out.data(), known, out.size() * sizeof(T));
    } else if (count > 0) {
      download(out.data(), device, out.size() * sizeof(T));
    }
    return out;
  }
  void upload(void* device, const void* host, size_t bytes);
  // Waits until the bytes are there.
  void download(void* host, const void* device, size_t bytes);
};

constexpr int max_head_dim = 256;
// Heads::value_pad for device code.
__host__ __device__ inline int padded_dim(const Heads& h) { return (h.head_dim + 15) / 16 * 16; }

inline unsigned blocks_of(int64_t count, int64_t size) { return static_cast<unsigned>((count + size - 1) / size); }
inline int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

void cuda_embed(CudaContext&, const EmbedArgs&);
void cuda_embed_backward(CudaContext&, const EmbedBackwardArgs&);
void cuda_rmsnorm(CudaContext&, const RmsNormArgs&);
void cuda_rmsnorm_backward(CudaContext&, const RmsNormBackwardArgs&);
void cuda_matmul(CudaContext&, const MatmulArgs&);
void cuda_matmul_input_grad(CudaContext&, const MatmulInputGradArgs&);
void cuda_matmul_weight_grad(CudaContext&, const MatmulWeightGradArgs&);
void cuda_qkv(CudaContext&, const QkvArgs&);
void cuda_qkv_backward(CudaContext&, const QkvBackwardArgs&);
void cuda_attention(CudaContext&, const AttentionArgs&);
void cuda_attention_backward(CudaContext&, const AttentionBackwardArgs&);
void cuda_swiglu(CudaContext&, const SwigluArgs&);
void cuda_swiglu_backward(CudaContext&, const SwigluBackwardArgs&);
void cuda_gather_rows(CudaContext&, const GatherRowsArgs&);
void cuda_scatter_rows(CudaContext&, const ScatterRowsArgs&);
void cuda_logprob(CudaContext&, const LogprobArgs&);
void cuda_logprob_loss(CudaContext&, const LogprobLossArgs&);
void cuda_policy_weights(CudaContext&, const PolicyWeightsArgs&);
void cuda_adamw(CudaContext&, const AdamWArgs&);
double cuda_squared_norm(CudaContext&, const float* x, int64_t count);
void cuda_sample(CudaContext&, const SampleArgs&);

}  // namespace vf
