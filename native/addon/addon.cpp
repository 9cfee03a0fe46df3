// The addon's exports. The only file that names the backends' factories.
#include <napi.h>

#include <cstdlib>

#include "../core/error.h"
#include "../core/rng.h"
#include "../cpu/backend.h"
#include "../cuda/backend.h"
#include "policy.h"

namespace vf {
namespace {

std::unique_ptr<Ops> make_backend(const LoadConfig& config) {
  if (config.device == "cpu") return make_cpu_backend(CpuOptions{config.threads, config.dtype == "bf16", config.isa});
  const bool simulated = cuda_info().simulated, numbered = config.device.rfind("cuda:", 0) == 0;
  require(config.device == "cuda-sim" ? simulated : numbered && !simulated, "VF_NO_DEVICE",
          std::string("Expected ") + (simulated ? "cpu or cuda-sim" : "cpu or cuda:N") + " as device but received " +
              config.device);
  return make_cuda_backend(CudaOptions{numbered ? std::atoi(config.device.c_str() + 5) : 0, config.dtype == "bf16"});
}

// Asks the driver: only when JavaScript reads `cuda`, so that loading the addon costs nothing.
Napi::Value cuda_value(const Napi::CallbackInfo& call) {
  const Napi::Env env = call.Env();
  const CudaInfo info = cuda_info();
  Napi::Object cuda = Napi::Object::New(env), switches = Napi::Object::New(env);
  Napi::Array devices = Napi::Array::New(env), memory = Napi::Array::New(env);
  for (const CudaDevice& d : info.devices) {
    memory.Set(devices.Length(), d.bytes);
    devices.Set(devices.Length(), d.name);
  }
  for (const CudaSwitch& s : info.switches) switches.Set(s.name, s.state);
  cuda.Set("compiled", info.compiled);
  cuda.Set("simulated", info.simulated);
  cuda.Set("devices", devices);
  cuda.Set("memory", memory);
  cuda.Set("reason", info.reason);
  cuda.Set("switches", switches);
  return cuda;
}

// What one JavaScript environment holds: no state is shared between worker threads.
struct Instance {
  Napi::FunctionReference policy;
};

Napi::Value load(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    LoadConfig config = load_config(info[0].As<Napi::Object>());
    if (config.isa.empty()) config.isa = cpu_isa();
    const Napi::Object object = info.Env().GetInstanceData<Instance>()->policy.New({});
    return Policy::Unwrap(object)->open(info.Env(), std::move(config), &make_backend);
  });
}

Napi::Value uniform(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Napi::Object stream = info[0].As<Napi::Object>();
    bool lossless = false;
    const auto word = [&](size_t i) { return info[i].As<Napi::Number>().Uint32Value(); };
    const StreamKey key{stream.Get("seed").As<Napi::BigInt>().Uint64Value(&lossless),
                        static_cast<uint32_t>(number_field(stream, "purpose")),
                        static_cast<uint32_t>(number_field(stream, "step")), word(1), word(2)};
    return Napi::Number::New(info.Env(), uniform_at(key, word(3)));
  });
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  auto* instance = new Instance;
  instance->policy = Napi::Persistent(Policy::define(env));
  env.SetInstanceData<Instance>(instance);
  exports.Set("version", VF_VERSION);
  exports.Set("load", Napi::Function::New<load>(env, "load"));
  exports.Set("uniform", Napi::Function::New<uniform>(env, "uniform"));
  Napi::Object cpu = Napi::Object::New(env), constants = Napi::Object::New(env);
  cpu.Set("isa", cpu_isa());
  cpu.Set("bf16", cpu_has_bf16());
  exports.Set("cpu", cpu);
  exports.DefineProperty(Napi::PropertyDescriptor::Accessor<cuda_value>("cuda", napi_enumerable));
  for (const auto& [name, value] : cpu_constants()) constants.Set(name, value);
  exports.Set("constants", constants);
  return exports;
}

}  // namespace
}  // namespace vf

static Napi::Object vf_init(Napi::Env env, Napi::Object exports) { return vf::init(env, exports); }
NODE_API_MODULE(vf, vf_init)
