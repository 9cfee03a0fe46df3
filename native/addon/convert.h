// Between JavaScript values and the engine's structs. Shapes and values are validated in TypeScript; a field of the
// wrong type here is a programming error and throws with its name.
#pragma once
#include <napi.h>

#include <string>
#include <vector>

#include "../core/error.h"
#include "../model/generate.h"
#include "../model/train_step.h"
#include "../model/weights.h"

namespace vf {

double number_field(const Napi::Object& o, const char* name);
bool bool_field(const Napi::Object& o, const char* name);
std::string string_field(const Napi::Object& o, const char* name);
Napi::Object object_field(const Napi::Object& o, const char* name);
std::vector<int32_t> int_field(const Napi::Object& o, const char* name);
std::vector<float> float_field(const Napi::Object& o, const char* name);
std::vector<uint8_t> byte_field(const Napi::Object& o, const char* name);

struct LoadConfig {
  Spec spec;
  std::vector<TensorFile> tensors;
  std::string device, dtype, isa;
  int threads = 1;
  std::vector<std::string> token_bytes;  // by id, one an embedding row
  int32_t usable_vocab = 0;
  bool trainable = true;
};
LoadConfig load_config(const Napi::Object& args);

// A request with the memory that its views point to.
struct SampleJob {
  std::vector<int32_t> prompt_ids, prompt_offsets, samples, first_sample, occurrences, continuation_ids,
      continuation_bounds, continuation_offsets;
  SampleRequest request;
};
void sample_job(const Napi::Object& args, SampleJob& job);

struct ForestMemory {
  std::vector<int32_t> ids, offsets, parents;
  Forest view() const {
    return Forest{ids.data(), offsets.data(), parents.data(), static_cast<int32_t>(parents.size())};
  }
};
struct ScoreJob {
  ForestMemory forest;
  ScoreRequest request;
};
void score_job(const Napi::Object& args, ScoreJob& job);

struct StepJob {
  ForestMemory forest;
  StepRequest request;
};
void step_job(const Napi::Object& args, StepJob& job);

struct SaveJob {
  std::string file;
  std::vector<uint8_t> header;
  std::vector<TensorOut> tensors;
};
SaveJob save_job(const Napi::Object& args);

// Runs a callback's body and turns the engine's errors into JavaScript errors with a `code`.
template <typename F>
Napi::Value guarded(Napi::Env env, F&& body) {
  try {
    return body();
  } catch (const Error& e) {
    Napi::Error error = Napi::Error::New(env, e.what());
    error.Set("code", Napi::String::New(env, e.code()));
    throw error;
  }
}

Arena arena_named(const std::string& kind);

Napi::Value to_js(Napi::Env env, const std::vector<float>& values);
Napi::Object to_js(Napi::Env env, const SampleOutput& out);
Napi::Object to_js(Napi::Env env, const ScoreOutput& out);
Napi::Object to_js(Napi::Env env, const StepOutput& out, double seconds);

}  // namespace vf
