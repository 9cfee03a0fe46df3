// The CUDA backend: finds the device and wires the ops to the contract. One stream, so that ops run in the order of
// calls.
#include "backend.h"

#include <cstdlib>

#include "attention_plan.h"
#include "cublaslt.h"
#include "cuda_ops.h"
#include "graphs.h"

namespace vf {

namespace {

// Does nothing: whether the driver has code of it for a device shows whether this build fits the device.
__global__ void probe() {}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Empty where a GPU can be used at all.
std::string driver_reason() {
  int driver = 0, runtime = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver";
  if (driver < runtime / 1000 * 1000)
    return "the driver is too old: it supports CUDA " + version_text(driver) + ", this build needs " +
           version_text(runtime / 1000 * 1000);
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error != cudaSuccess) return std::string("the driver reports: ") + cudaGetErrorString(error);
  return count == 0 ? "no GPU is visible (CUDA_VISIBLE_DEVICES hides all, or there is none)" : "";
}

// Empty where this device can be used.
std::string device_reason(int device, cudaDeviceProp& properties) {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (device < 0 || device >= count)
    return "device " + std::to_string(device) + " is not among the " + std::to_string(count) + " here";
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) error = cudaSetDevice(device);
  cudaFuncAttributes attributes;
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, probe);
  cudaGetLastError();
  if (error == cudaSuccess && properties.major >= 8) return "";
  const std::string architecture = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  if (properties.major < 8 && properties.major > 0)
    return std::string(properties.name) + " has compute capability " + architecture + ", 8.0 is the least";
  return "no kernel for compute capability " + architecture + ": " + cudaGetErrorString(error);
}

// A switch of the environment: what only hardware can show right stays off without it.
bool switched_on(const char* name) {
  const char* value = std::getenv(name);
  return value && std::string(value) == "1";
}
bool wants_cublaslt() { return switched_on("VF_CUBLASLT"); }
bool wants_graphs() { return switched_on("VF_CUDA_GRAPHS"); }

class CudaOps final : public Ops {
 public:
  explicit CudaOps(const CudaOptions& options) : recorded_(wants_graphs()) {
    const std::string missing = driver_reason();
    require(missing.empty(), "VF_NO_DEVICE", "Expected a usable GPU but received: " + missing);
    cudaDeviceProp properties{};
    const std::string unfit = device_reason(options.device, properties);
    require(unfit.empty(), "VF_NO_DEVICE", "Expected a usable GPU but received: " + unfit);
    device_ = options.device;
    context_.bf16 = options.bf16;
    context_.processors = properties.multiProcessorCount;
    context_.plans = &plans_;
    cuda_check(cudaStreamCreateWithFlags(&context_.stream, cudaStreamNonBlocking), "a stream");
    if (!options.bf16 || !wants_cublaslt()) return;
    lt_ = std::make_unique<CublasLt>();
    context_.lt = lt_.get();
  }
  ~CudaOps() override {
    cudaStreamSynchronize(context_.stream);
    recorded_.clear();
    for (auto& [weight, copy] : context_.weights) context_.memory.release(copy.data);
    cudaStreamDestroy(context_.stream);
  }

  const char* name() const override { return runs_on_shim ? "cuda-sim" : "cuda"; }
  const char* products() const override {
    if (!context_.bf16) return "own f32 products";
    return context_.lt ? "cuBLASLt products, own mma.sync up to 16 rows" : "own mma.sync products";
  }

  void* allocate(size_t bytes) override { return context_.memory.allocate(bytes); }
  void release(void* memory) noexcept override {
    if (!memory) return;
    const size_t bytes = context_.memory.release(memory);
    context_.tables.forget(memory, bytes);
    forget_weights(memory, bytes);
  }
  void upload(void* device, const void* host, size_t bytes) override {
    context_.upload(device, host, bytes);
    context_.tables.remember(device, host, bytes);
  }
  void download(void* host, const void* device, size_t bytes) override { context_.download(host, device, bytes); }
  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes > 0)
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context_.stream), "a copy on the GPU");
  }
  void zero(void* memory, size_t bytes) override {
    if (bytes > 0) cuda_check(cudaMemsetAsync(memory, 0, bytes, context_.stream), "a fill on the GPU");
  }
  void synchronize() override { cuda_check(cudaStreamSynchronize(context_.stream), "the work queued so far"); }
  int kv_element_bytes() const override { return context_.bf16 ? sizeof(bf16_t) : sizeof(float); }
  void weights_changed() override {
    recorded_.clear();  // a recording has no kernels that round the weights anew
    for (auto& [weight, copy] : context_.weights) copy.fresh = false;
  }

  void embed(const EmbedArgs& a) override { cuda_embed(context_, a); }
  void embed_backward(const EmbedBackwardArgs& a) override { cuda_embed_backward(context_, a); }
  void rmsnorm(const RmsNormArgs& a) override { cuda_rmsnorm(context_, a); }
  void rmsnorm_backward(const RmsNormBackwardArgs& a) override { cuda_rmsnorm_backward(context_, a); }
  void matmul(const MatmulArgs& a) override { cuda_matmul(context_, a); }
  void matmul_input_grad(const MatmulInputGradArgs& a) override { cuda_matmul_input_grad(context_, a); }
  void matmul_weight_grad(const MatmulWeightGradArgs& a) override { cuda_matmul_weight_grad(context_, a); }
  void qkv(const QkvArgs& a) override { cuda_qkv(context_, a); }
  void qkv_backward(const QkvBackwardArgs& a) override { cuda_qkv_backward(context_, a); }
  void attention(const AttentionArgs& a) override { cuda_attention(context_, a); }
  void attention_backward(const AttentionBackwardArgs& a) override { cuda_attention_backward(context_, a); }
  void swiglu(const SwigluArgs& a) override { cuda_swiglu(context_, a); }
  void swiglu_backward(const SwigluBackwardArgs& a) override { cuda_swiglu_backward(context_, a); }
  void gather_rows(const GatherRowsArgs& a) override { cuda_gather_rows(context_, a); }
  void scatter_rows(const ScatterRowsArgs& a) override { cuda_scatter_rows(context_, a); }
  void logprob(const LogprobArgs& a) override { cuda_logprob(context_, a); }
  void logprob_loss(const LogprobLossArgs& a) override { cuda_logprob_loss(context_, a); }
  void policy_weights(const PolicyWeightsArgs& a) override { cuda_policy_weights(context_, a); }
  void adamw(const AdamWArgs& a) override { cuda_adamw(context_, a); }
  double squared_norm(const float* x, int64_t count) override { return cuda_squared_norm(context_, x, count); }
  void sample(const SampleArgs& a) override { cuda_sample(context_, a); }

  // 1, 2, 4, 8, then multiples of 16
  int64_t decode_rows(int64_t rows) const override {
    if (!recorded_.on()) return rows;
    if (rows > 8) return round_up(rows, 16);
    int64_t bucket = 1;
    while (bucket < rows) bucket *= 2;
    return bucket;
  }
  void decode_pass(const DecodePass& pass, const std::function<void()>& work) override {
    if (!recorded_.on()) return work();
    struct Padded {
      bool& on;
      explicit Padded(bool& flag) : on(flag) { on = true; }
      ~Padded() { on = false; }
    } padded(context_.padded_plans);
    const GraphKey key = plan_decode_pass(context_, pass);
    recorded_.run(context_.stream, context_.memory.changes(), key, work);
  }

  int64_t recorded_launches() const { return recorded_.launches(); }
  uint64_t memory_changes() const { return context_.memory.changes(); }

 private:
  void forget_weights(const void* memory, size_t bytes) {
    const char* begin = static_cast<const char*>(memory);
    for (auto it = context_.weights.begin(); it != context_.weights.end();) {
      const char* at = reinterpret_cast<const char*>(it->first);
      const bool inside = at >= begin && at < begin + bytes;
      if (inside) context_.memory.release(it->second.data);
      it = inside ? context_.weights.erase(it) : std::next(it);
    }
  }

  int device_ = 0;
  AttentionPlans plans_;
  CudaContext context_;
  std::unique_ptr<CublasLt> lt_;
  RecordedWork recorded_;
};

}  // namespace

std::unique_ptr<Ops> make_cuda_backend(const CudaOptions& options) { return std::make_unique<CudaOps>(options); }

int64_t recorded_launches(const Ops& cuda) { return static_cast<const CudaOps&>(cuda).recorded_launches(); }

uint64_t memory_changes(const Ops& cuda) { return static_cast<const CudaOps&>(cuda).memory_changes(); }

CudaInfo cuda_info() {
  CudaInfo info;
  info.compiled = true;
  info.simulated = runs_on_shim;
  info.switches = {
      {"own mma.sync products", wants_cublaslt() ? "on for up to 16 rows" : "on"},
      {"cuBLASLt products",
       wants_cublaslt() ? "on (VF_CUBLASLT=1)" : "off until hardware has shown them right (VF_CUBLASLT=1)"},
      {"CUDA graphs for decoding",
       wants_graphs() ? "on (VF_CUDA_GRAPHS=1)" : "off until hardware has shown them right (VF_CUDA_GRAPHS=1)"}};
  info.reason = runs_on_shim ? "a test build: it runs CUDA on the CPU, as --device cuda-sim" : driver_reason();
  if (!info.reason.empty()) return info;
  int count = 0;
  cudaGetDeviceCount(&count);
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties{};
    const std::string reason = device_reason(i, properties);
    if (reason.empty()) info.devices.push_back({properties.name, static_cast<double>(properties.totalGlobalMem)});
    if (!reason.empty()) info.reason = reason;
  }
  if (!info.devices.empty()) info.reason.clear();
  return info;
}

}  // namespace vf
