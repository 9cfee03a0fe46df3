// Conversions at the boundary (convert.h).
#include "convert.h"

#include <cstring>

#include "../core/error.h"

namespace vf {
namespace {

[[noreturn]] void wrong_type(const char* name, const char* expected) {
  throw Error("VF_INVALID_VALUE", std::string("Expected ") + expected + " for " + name + " at the engine's boundary");
}

template <typename Js, typename T>
std::vector<T> typed(const Napi::Object& o, const char* name, napi_typedarray_type type, const char* expected) {
  const Napi::Value v = o.Get(name);
  if (!v.IsTypedArray() || v.As<Napi::TypedArray>().TypedArrayType() != type) wrong_type(name, expected);
  const Js array = v.As<Js>();
  const T* data = reinterpret_cast<const T*>(array.Data());
  return std::vector<T>(data, data + array.ElementLength());
}

template <typename Js, typename Vector>
Js array_to_js(Napi::Env env, const Vector& values) {
  Js array = Js::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(values[0]));
  return array;
}

std::string text(const std::vector<uint8_t>& bytes) { return std::string(bytes.begin(), bytes.end()); }

template <typename T>
T one_of(const std::string& name, const std::string& value, std::initializer_list<std::pair<const char*, T>> choices) {
  for (const auto& [key, result] : choices)
    if (value == key) return result;
  throw Error("VF_INVALID_VALUE", "Expected a known value for " + name + " but received " + value);
}

Dtype dtype_named(const std::string& name) {
  return one_of<Dtype>("dtype", name, {{"f32", Dtype::f32}, {"f16", Dtype::f16}, {"bf16", Dtype::bf16}});
}

ForestMemory forest(const Napi::Object& args) {
  const Napi::Object tree = object_field(args, "tree"), tokens = object_field(tree, "tokens");
  ForestMemory memory{int_field(tokens, "ids"), int_field(tokens, "offsets"), int_field(tree, "parents")};
  require(memory.offsets.size() == memory.parents.size() + 1 &&
              memory.offsets.back() == static_cast<int32_t>(memory.ids.size()),
          "VF_INVALID_VALUE", "Expected offsets of every segment of the tree but received another number");
  return memory;
}

std::vector<Span> spans(const Napi::Object& args) {
  const std::vector<int32_t> flat = int_field(args, "spans");
  std::vector<Span> out;
  for (size_t i = 0; i + 3 < flat.size(); i += 4) out.push_back(Span{flat[i], flat[i + 1], flat[i + 2], flat[i + 3]});
  return out;
}

}  // namespace

double number_field(const Napi::Object& o, const char* name) {
  const Napi::Value v = o.Get(name);
  if (!v.IsNumber()) wrong_type(name, "a number");
  return v.As<Napi::Number>().DoubleValue();
}
bool bool_field(const Napi::Object& o, const char* name) {
  const Napi::Value v = o.Get(name);
  if (!v.IsBoolean()) wrong_type(name, "a boolean");
  return v.As<Napi::Boolean>().Value();
}
std::string string_field(const Napi::Object& o, const char* name) {
  const Napi::Value v = o.Get(name);
  if (!v.IsString()) wrong_type(name, "a string");
  return v.As<Napi::String>().Utf8Value();
}
Napi::Object object_field(const Napi::Object& o, const char* name) {
  const Napi::Value v = o.Get(name);
  if (!v.IsObject()) wrong_type(name, "an object");
  return v.As<Napi::Object>();
}
std::vector<int32_t> int_field(const Napi::Object& o, const char* name) {
  return typed<Napi::Int32Array, int32_t>(o, name, napi_int32_array, "an Int32Array");
}
std::vector<float> float_field(const Napi::Object& o, const char* name) {
  return typed<Napi::Float32Array, float>(o, name, napi_float32_array, "a Float32Array");
}
std::vector<uint8_t> byte_field(const Napi::Object& o, const char* name) {
  return typed<Napi::Uint8Array, uint8_t>(o, name, napi_uint8_array, "a Uint8Array");
}

Arena arena_named(const std::string& kind) {
  return one_of<Arena>("kind", kind,
                       {{"weight", Arena::weight}, {"grad", Arena::grad}, {"m", Arena::m}, {"v", Arena::v}});
}

LoadConfig load_config(const Napi::Object& args) {
  LoadConfig c;
  const Napi::Object s = object_field(args, "spec"), scaling = object_field(s, "ropeScaling");
  const auto integer = [&](const char* name) { return static_cast<int32_t>(number_field(s, name)); };
  c.spec.layers = integer("layers");
  c.spec.hidden = integer("hidden");
  c.spec.heads = integer("heads");
  c.spec.kv_heads = integer("kvHeads");
  c.spec.head_dim = integer("headDim");
  c.spec.ffn = integer("ffn");
  c.spec.vocab = integer("vocab");
  c.spec.rms_eps = static_cast<float>(number_field(s, "rmsEps"));
  c.spec.rope_theta = number_field(s, "ropeTheta");
  c.spec.qk_norm = bool_field(s, "qkNorm");
  c.spec.qkv_bias = bool_field(s, "qkvBias");
  c.spec.tied = bool_field(s, "tied");
  c.spec.max_positions = integer("maxPositions");
  const std::string kind = string_field(scaling, "kind");
  c.spec.rope_scaling = one_of<RopeScaling>(
      "ropeScaling", kind,
      {{"none", RopeScaling::none}, {"linear", RopeScaling::linear}, {"llama3", RopeScaling::llama3}});
  if (kind != "none") c.spec.rope_factor = number_field(scaling, "factor");
  if (kind == "llama3") {
    c.spec.rope_low_freq_factor = number_field(scaling, "lowFreqFactor");
    c.spec.rope_high_freq_factor = number_field(scaling, "highFreqFactor");
    c.spec.rope_original_positions = number_field(scaling, "originalPositions");
  }
  const Napi::Array tensors = args.Get("tensors").As<Napi::Array>();
  for (uint32_t i = 0; i < tensors.Length(); i++) {
    const Napi::Object t = tensors.Get(i).As<Napi::Object>();
    const Napi::Array shape = t.Get("shape").As<Napi::Array>();
    std::vector<int64_t> dims;
    for (uint32_t d = 0; d < shape.Length(); d++) dims.push_back(shape.Get(d).As<Napi::Number>().Int64Value());
    c.tensors.push_back(
        TensorFile{string_field(t, "name"), string_field(t, "file"), arena_named(string_field(t, "kind")),
                   static_cast<int64_t>(number_field(t, "offset")), dtype_named(string_field(t, "dtype")), dims});
  }
  c.device = string_field(args, "device");
  c.dtype = string_field(args, "dtype");
  c.isa = string_field(args, "isa");
  c.threads = static_cast<int>(number_field(args, "threads"));
  c.usable_vocab = static_cast<int32_t>(number_field(args, "usableVocab"));
  c.trainable = bool_field(args, "trainable");
  const std::vector<uint8_t> bytes = byte_field(args, "tokenBytes");
  const std::vector<int32_t> offsets = int_field(args, "tokenOffsets");
  c.token_bytes.resize(static_cast<size_t>(c.spec.vocab));
  for (size_t i = 0; i + 1 < offsets.size() && i < c.token_bytes.size(); i++)
    c.token_bytes[i].assign(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
  return c;
}

void sample_job(const Napi::Object& args, SampleJob& job) {
  const Napi::Object prompts = object_field(args, "prompts"), stream = object_field(args, "stream"),
                     continuations = object_field(args, "continuations");
  job.prompt_ids = int_field(prompts, "ids");
  job.prompt_offsets = int_field(prompts, "offsets");
  job.samples = int_field(args, "samples");
  job.first_sample = int_field(args, "firstSample");
  job.occurrences = int_field(args, "occurrences");
  job.continuation_ids = int_field(continuations, "ids");
  job.continuation_bounds = int_field(continuations, "offsets");
  job.continuation_offsets = int_field(args, "continuationOffsets");
  SampleRequest& r = job.request;
  r.prompts =
      RaggedView{job.prompt_ids.data(), job.prompt_offsets.data(), static_cast<int32_t>(job.prompt_offsets.size()) - 1};
  const size_t count = static_cast<size_t>(r.prompts.count);
  require(job.samples.size() == count && job.first_sample.size() == count && job.occurrences.size() == count,
          "VF_INVALID_VALUE", "Expected samples, firstSample and occurrences for every prompt");
  r.samples = job.samples.data();
  r.first_sample = job.first_sample.data();
  r.occurrences = job.occurrences.data();
  bool lossless = false;
  r.seed = stream.Get("seed").As<Napi::BigInt>().Uint64Value(&lossless);
  r.purpose = static_cast<uint32_t>(number_field(stream, "purpose"));
  r.step = static_cast<uint32_t>(number_field(stream, "step"));
  r.max_tokens = static_cast<int32_t>(number_field(args, "maxTokens"));
  r.temperature = static_cast<float>(number_field(args, "temperature"));
  r.top_p = static_cast<float>(number_field(args, "topP"));
  r.top_k = static_cast<int32_t>(number_field(args, "topK"));
  r.eos_ids = int_field(args, "eosIds");
  r.force_border = int_field(args, "forceBorder");
  r.stop.border = text(byte_field(args, "border"));
  const Napi::Array stops = args.Get("stops").As<Napi::Array>();
  for (uint32_t i = 0; i < stops.Length(); i++) {
    const Napi::Uint8Array stop = stops.Get(i).As<Napi::Uint8Array>();
    r.stop.stops.emplace_back(reinterpret_cast<const char*>(stop.Data()), stop.ByteLength());
  }
  if (!job.continuation_offsets.empty()) {
    require(job.continuation_offsets.size() == count + 1, "VF_INVALID_VALUE",
            "Expected continuationOffsets for every prompt");
    r.continuations = RaggedView{job.continuation_ids.data(), job.continuation_bounds.data(),
                                 static_cast<int32_t>(job.continuation_bounds.size()) - 1};
    r.continuation_offsets = job.continuation_offsets.data();
  }
  r.max_batch = static_cast<int32_t>(number_field(args, "maxBatch"));
}

void score_job(const Napi::Object& args, ScoreJob& job) {
  job.forest = forest(args);
  job.request.forest = job.forest.view();
  job.request.spans = spans(args);
  job.request.temperature = static_cast<float>(number_field(args, "temperature"));
  job.request.entropy = bool_field(args, "entropy");
  job.request.micro_batch_tokens = static_cast<int64_t>(number_field(args, "microBatchTokens"));
}

void step_job(const Napi::Object& args, StepJob& job) {
  job.forest = forest(args);
  StepRequest& r = job.request;
  r.forest = job.forest.view();
  r.spans = spans(args);
  r.span_trace = int_field(args, "spanTrace");
  r.group_offsets = int_field(args, "groupOffsets");
  r.continuation_offsets = int_field(args, "continuationOffsets");
  r.answer_offsets = int_field(args, "answerOffsets");
  r.answer_logprobs = float_field(args, "answerLogprobs");
  r.given = float_field(args, "given");
  r.span_weights = float_field(args, "spanWeights");
  r.old_logprobs = float_field(args, "oldLogprobs");
  r.ref_logprobs = float_field(args, "refLogprobs");
  r.reward = one_of<RewardKind>("reward", string_field(args, "reward"),
                                {{"p", RewardKind::probability},
                                 {"p_mean", RewardKind::mean_probability},
                                 {"logp", RewardKind::log_probability},
                                 {"given", RewardKind::given}});
  r.advantage = one_of<AdvantageKind>("advantage", string_field(args, "advantage"),
                                      {{"rloo", AdvantageKind::rloo},
                                       {"mean", AdvantageKind::mean},
                                       {"none", AdvantageKind::none},
                                       {"grpo", AdvantageKind::standardized},
                                       {"given", AdvantageKind::given}});
  r.answer_weight = one_of<AnswerWeight>("answerWeight", string_field(args, "answerWeight"),
                                         {{"exact", AnswerWeight::exact},
                                          {"one", AnswerWeight::one},
                                          {"advantage", AnswerWeight::advantage},
                                          {"none", AnswerWeight::none}});
  r.terms = one_of<Terms>("terms", string_field(args, "terms"),
                          {{"both", Terms::both}, {"reasoning", Terms::reasoning}, {"answer", Terms::answer}});
  r.normalize_tokens =
      one_of<bool>("normalize", string_field(args, "normalize"), {{"traces", false}, {"tokens", true}});
  r.reward_exponent = number_field(args, "rewardExponent");
  r.length_divisor = number_field(args, "lengthDivisor");
  r.temperature = number_field(args, "temperature");
  r.clip_low = number_field(args, "clipLow");
  r.clip_high = number_field(args, "clipHigh");
  r.dual_clip = number_field(args, "dualClip");
  r.kl_coefficient = number_field(args, "klCoefficient");
  r.tis_cap = number_field(args, "tisCap");
  r.epochs = static_cast<int32_t>(number_field(args, "epochs"));
  r.mini_batches = static_cast<int32_t>(number_field(args, "miniBatches"));
  r.update = bool_field(args, "update");
  r.recompute = bool_field(args, "recompute");
  r.micro_batch_tokens = static_cast<int64_t>(number_field(args, "microBatchTokens"));
  const Napi::Object o = object_field(args, "optimizer");
  r.optimizer = Optimizer{number_field(o, "lr"),
                          number_field(o, "beta1"),
                          number_field(o, "beta2"),
                          number_field(o, "eps"),
                          number_field(o, "weightDecay"),
                          number_field(o, "clipNorm"),
                          static_cast<int64_t>(number_field(o, "updatesDone"))};
}

SaveJob save_job(const Napi::Object& args) {
  SaveJob job{string_field(args, "file"), byte_field(args, "header"), {}};
  const Napi::Array tensors = args.Get("tensors").As<Napi::Array>();
  for (uint32_t i = 0; i < tensors.Length(); i++) {
    const Napi::Object t = tensors.Get(i).As<Napi::Object>();
    job.tensors.push_back(TensorOut{string_field(t, "name"), arena_named(string_field(t, "kind")),
                                    dtype_named(string_field(t, "dtype"))});
  }
  return job;
}

Napi::Value to_js(Napi::Env env, const std::vector<float>& values) {
  return array_to_js<Napi::Float32Array>(env, values);
}

Napi::Object to_js(Napi::Env env, const SampleOutput& out) {
  Napi::Object o = Napi::Object::New(env), tokens = Napi::Object::New(env);
  tokens.Set("ids", array_to_js<Napi::Int32Array>(env, out.ids));
  tokens.Set("offsets", array_to_js<Napi::Int32Array>(env, out.offsets));
  o.Set("tokens", tokens);
  o.Set("logprobs", to_js(env, out.logprobs));
  o.Set("finish", array_to_js<Napi::Uint8Array>(env, out.finish));
  o.Set("stopIndex", array_to_js<Napi::Int32Array>(env, out.stop_index));
  o.Set("continuationLogprobs", to_js(env, out.continuation_logprobs));
  o.Set("continuationOffsets", array_to_js<Napi::Int32Array>(env, out.continuation_offsets));
  o.Set("prefillTokens", static_cast<double>(out.prefill_tokens));
  o.Set("decodeTokens", static_cast<double>(out.decode_tokens));
  o.Set("continuationTokens", static_cast<double>(out.continuation_tokens));
  o.Set("prefillSeconds", out.prefill_seconds);
  o.Set("decodeSeconds", out.decode_seconds);
  o.Set("continuationSeconds", out.continuation_seconds);
  return o;
}

Napi::Object to_js(Napi::Env env, const ScoreOutput& out) {
  Napi::Object o = Napi::Object::New(env);
  o.Set("logprobs", to_js(env, out.logprobs));
  o.Set("entropy", to_js(env, out.entropy));
  o.Set("tokensComputed", static_cast<double>(out.tokens_computed));
  return o;
}

Napi::Object to_js(Napi::Env env, const StepOutput& out, double seconds) {
  Napi::Object o = Napi::Object::New(env);
  o.Set("logReward", to_js(env, out.log_reward));
  o.Set("reward", to_js(env, out.reward));
  o.Set("advantage", to_js(env, out.advantage));
  o.Set("skipped", array_to_js<Napi::Uint8Array>(env, std::vector<uint8_t>(out.skipped.begin(), out.skipped.end())));
  o.Set("logprobs", to_js(env, out.logprobs));
  o.Set("gradNorms", array_to_js<Napi::Float64Array>(env, out.grad_norms));
  o.Set("weightedLogprob", out.weighted_logprob);
  o.Set("surrogate", out.surrogate);
  o.Set("kl", out.kl);
  o.Set("clipShare", out.clip_share);
  o.Set("ratioMin", out.ratio_min);
  o.Set("ratioMax", out.ratio_max);
  o.Set("mismatchMean", out.mismatch_mean);
  o.Set("mismatchMax", out.mismatch_max);
  o.Set("updates", out.updates);
  o.Set("tokensComputed", static_cast<double>(out.tokens_computed));
  o.Set("spanTokens", static_cast<double>(out.span_tokens));
  o.Set("seconds", seconds);
  return o;
}

}  // namespace vf
