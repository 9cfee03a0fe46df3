// The addon's exports. The only file that names the backends' factories.
#include <napi.h>

#include "../core/error.h"
#include "../core/rng.h"
#include "../cpu/backend.h"
#include "policy.h"

namespace vf {
namespace {

std::unique_ptr<Ops> make_backend(const LoadConfig& config) {
  if (config.device == "cpu") return make_cpu_backend(CpuOptions{config.threads, config.dtype == "bf16", config.isa});
  throw Error("VF_NO_DEVICE", "Expected a device of this build (cpu) but received " + config.device);
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
  Napi::Object cpu = Napi::Object::New(env), cuda = Napi::Object::New(env), constants = Napi::Object::New(env);
  cpu.Set("isa", cpu_isa());
  cpu.Set("bf16", cpu_has_bf16());
  exports.Set("cpu", cpu);
  cuda.Set("compiled", false);
  cuda.Set("devices", Napi::Array::New(env));
  cuda.Set("reason", "this build has no CUDA");
  exports.Set("cuda", cuda);
  for (const auto& [name, value] : cpu_constants()) constants.Set(name, value);
  exports.Set("constants", constants);
  return exports;
}

}  // namespace
}  // namespace vf

static Napi::Object vf_init(Napi::Env env, Napi::Object exports) { return vf::init(env, exports); }
NODE_API_MODULE(vf, vf_init)
