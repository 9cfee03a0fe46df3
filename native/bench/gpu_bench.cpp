// The stages of gpu.sh that measure: train, decode, logprob, step. Prints every row as it comes and appends it as JSON
// to the file named last. gpu_bench STAGE FILE [small]; stage probe only looks; `small` takes shapes for a look through
// the CPU shim. Exit 3: no GPU.
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../core/error.h"
#include "../cuda/backend.h"
#include "../model/generate.h"
#include "../model/train_step.h"

extern "C" __attribute__((weak)) int cudaMemGetInfo(size_t* free_bytes, size_t* total);

namespace {

// Vendor's figures for one H100 or H200: dense bf16 products and, for the H200, memory.
constexpr double peak_flops = 989e12, peak_bytes = 4.8e12;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double free_memory() {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo) cudaMemGetInfo(&free_bytes, &total);
  return static_cast<double>(free_bytes);
}

std::FILE* json_file = nullptr;

// name, then pairs of (label, number), ended by a null label.
void row(const std::string& stage, const std::string& name,
         std::initializer_list<std::pair<const char*, double>> numbers) {
  std::printf("%-8s %-34s", stage.c_str(), name.c_str());
  if (json_file) std::fprintf(json_file, "{\"stage\":\"%s\",\"row\":\"%s\"", stage.c_str(), name.c_str());
  for (const auto& [label, number] : numbers) {
    std::printf("  %s %.4g", label, number);
    if (json_file) std::fprintf(json_file, ",\"%s\":%.9g", label, number);
  }
  std::printf("\n");
  std::fflush(stdout);
  if (json_file) {
    std::fprintf(json_file, "}\n");
    std::fflush(json_file);
  }
}

struct Shape {
  const char* name;
  int layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
};
constexpr Shape shapes[] = {{"qwen3-0.6b", 28, 1024, 16, 8, 128, 3072, 151936},
                            {"qwen3-1.7b", 28, 2048, 16, 8, 128, 6144, 151936}};
constexpr Shape small_shape = {"small", 2, 64, 4, 2, 64, 96, 300};

vf::Spec spec_of(const Shape& s) {
  vf::Spec spec;
  spec.layers = s.layers;
  spec.hidden = s.hidden;
  spec.heads = s.heads;
  spec.kv_heads = s.kv_heads;
  spec.head_dim = s.head_dim;
  spec.ffn = s.ffn;
  spec.vocab = s.vocab;
  spec.qk_norm = true;
  spec.rope_theta = 1e6;
  spec.max_positions = 8192;
  return spec;
}

// Small random numbers, the same everywhere.
std::vector<float> random_floats(size_t count, float scale, uint64_t seed) {
  std::vector<float> x(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (float& v : x) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = scale * (static_cast<float>(state >> 40) / 8388608.0f - 1.0f);
  }
  return x;
}

struct Model {
  std::unique_ptr<vf::Ops> ops;
  vf::Weights weights;
  vf::Network network;
  Model(const Shape& s, bool trainable)
      : ops(vf::make_cuda_backend({0, true})), weights(*ops, spec_of(s), trainable), network(weights) {
    // norms among the random numbers: about as large as the rest, which keeps every activation finite
    const std::vector<float> block = random_floats(size_t{1} << 22, 0.05f, 1);
    float* base = weights.arena(vf::Arena::weight);
    for (int64_t at = 0; at < weights.arena_count(); at += static_cast<int64_t>(block.size()))
      ops->upload(base + at, block.data(), std::min<size_t>(block.size(), weights.arena_count() - at) * sizeof(float));
    const std::vector<float> ones(static_cast<size_t>(std::max(s.hidden, s.head_dim)), 1.0f);
    const auto fill = [&](float* to, int count) {
      ops->upload(to, ones.data(), static_cast<size_t>(count) * sizeof(float));
    };
    for (const vf::LayerWeights& l : weights.weights().layers) {
      fill(l.attention_norm, s.hidden);
      fill(l.mlp_norm, s.hidden);
      fill(l.q_norm, s.head_dim);
      fill(l.k_norm, s.head_dim);
    }
    fill(weights.weights().final_norm, s.hidden);
    ops->weights_changed();
  }
};

struct Workload {
  int groups, samples, prompt, tokens, answer;
};

// Prompts with one reference answer each.
struct Prompts {
  std::vector<int32_t> ids, offsets{0}, answers, answer_offsets{0}, per_prompt{0}, counts, firsts, occurrences;
  std::vector<std::string> bytes;
  Prompts(const Workload& w, int vocab) : bytes(static_cast<size_t>(vocab), "x") {
    for (int g = 0; g < w.groups; g++) {
      for (int i = 0; i < w.prompt; i++) ids.push_back((g * 977 + i * 131) % (vocab - 1));
      offsets.push_back(static_cast<int32_t>(ids.size()));
      for (int i = 0; i < w.answer; i++) answers.push_back((g * 31 + i * 7) % (vocab - 1));
      answer_offsets.push_back(static_cast<int32_t>(answers.size()));
      per_prompt.push_back(g + 1);
      counts.push_back(w.samples);
      firsts.push_back(0);
      occurrences.push_back(g);
    }
  }
};

vf::SampleOutput sample(Model& m, const Prompts& p, const Workload& w, int batch) {
  vf::SampleRequest r;
  r.prompts = {p.ids.data(), p.offsets.data(), w.groups};
  r.samples = p.counts.data();
  r.first_sample = p.firsts.data();
  r.occurrences = p.occurrences.data();
  r.seed = 5;
  r.max_tokens = w.tokens;
  if (w.answer > 0) {
    r.force_border = {1};
    r.stop.border = "<answer";
    r.continuations = {p.answers.data(), p.answer_offsets.data(), w.groups};
    r.continuation_offsets = p.per_prompt.data();
  }
  r.max_batch = batch;
  r.usable_vocab = m.weights.spec().vocab;
  r.token_bytes = &p.bytes;
  vf::Control control;
  return vf::generate(m.network, r, control);
}

struct Batch {
  std::vector<int32_t> ids, offsets{0}, parents;
  vf::StepRequest r;
  Batch(const Prompts& p, const Workload& w, const vf::SampleOutput& out, int vocab, int64_t micro_batch) {
    const auto segment = [&](const int32_t* begin, int count, int parent) {
      ids.insert(ids.end(), begin, begin + count);
      offsets.push_back(static_cast<int32_t>(ids.size()));
      parents.push_back(parent);
      return static_cast<int32_t>(parents.size()) - 1;
    };
    const auto span = [&](int at, int length, int role, int trace, const float* old) {
      r.spans.push_back({at, 0, length, role});
      r.span_trace.push_back(trace);
      r.old_logprobs.insert(r.old_logprobs.end(), old, old + length);
    };
    r.group_offsets = r.continuation_offsets = r.answer_offsets = {0};
    for (int g = 0, trace = 0; g < w.groups; g++) {
      const int prompt = segment(p.ids.data() + p.offsets[g], w.prompt, -1);
      for (int s = 0; s < w.samples; s++, trace++) {
        const int length = out.offsets[trace + 1] - out.offsets[trace];
        const int own = segment(out.ids.data() + out.offsets[trace], length, prompt);
        span(own, length, 0, trace, out.logprobs.data() + out.offsets[trace]);
        const float* answer = out.continuation_logprobs.data() + out.continuation_offsets[trace];
        span(segment(p.answers.data() + p.answer_offsets[g], w.answer, own), w.answer, 1, trace, answer);
        r.answer_logprobs.insert(r.answer_logprobs.end(), answer, answer + w.answer);
        r.answer_offsets.push_back(static_cast<int32_t>(r.answer_logprobs.size()));
        r.continuation_offsets.push_back(static_cast<int32_t>(r.answer_offsets.size()) - 1);
      }
      r.group_offsets.push_back((g + 1) * w.samples);
    }
    r.length_divisor = 1000;
    r.micro_batch_tokens = micro_batch;
    r.usable_vocab = vocab;
    r.optimizer.lr = 1e-6;
    r.optimizer.clip_norm = 1;
    r.forest = {ids.data(), offsets.data(), parents.data(), static_cast<int32_t>(parents.size())};
  }
};

// One VeriFree step in its phases. `product_seconds`: of a layer's products for one row, where they were measured.
void step_stage(const char* stage, const Shape& shape, const Workload& w, int64_t micro_batch, int repeats,
                double product_seconds = 0) {
  Model m(shape, true);
  const Prompts prompts(w, shape.vocab);
  for (int i = 0; i < repeats; i++) {
    const double begin = now();
    const vf::SampleOutput out = sample(m, prompts, w, w.groups * w.samples);
    const double sampled = now();
    Batch batch(prompts, w, out, shape.vocab, micro_batch);
    batch.r.optimizer.updates_done = i;
    vf::Control control;
    const vf::StepOutput result = vf::train_step(m.network, batch.r, control);
    m.ops->synchronize();
    const double end = now(), tokens = static_cast<double>(result.tokens_computed), trained = end - sampled;
    const double flops = 6.0 * static_cast<double>(m.weights.parameters()) * tokens;
    row(stage, std::string(shape.name) + (i == 0 ? " first" : ""),
        {{"sample_s", sampled - begin},
         {"prefill_s", out.prefill_seconds},
         {"decode_s", out.decode_seconds},
         {"answers_s", out.continuation_seconds},
         {"train_s", trained},
         {"train_tokens_per_s", tokens / trained},
         {"mfu", flops / trained / peak_flops},
         {"decode_tokens_per_s", static_cast<double>(out.decode_tokens) / out.decode_seconds},
         {"mismatch_mean", result.mismatch_mean},
         {"mismatch_max", result.mismatch_max}});
    if (product_seconds > 0)
      row(stage, std::string(shape.name) + " layers' products",
          {{"share_of_training", product_seconds * shape.layers * tokens / trained}});
  }
}

// Decoding with every launch made anew, or with recorded passes (VF_CUDA_GRAPHS).
void decode_rows(const Shape& shape, bool small, bool recorded) {
  if (recorded) setenv("VF_CUDA_GRAPHS", "1", 1);
  Model m(shape, false);
  unsetenv("VF_CUDA_GRAPHS");
  const vf::Heads heads = m.weights.spec().attention();
  const double weight_bytes = 2.0 * static_cast<double>(m.weights.parameters());
  const double key_bytes = static_cast<double>(heads.key_block_size() + heads.value_block_size()) / vf::kv_block *
                           m.ops->kv_element_bytes() * shape.layers;
  for (const int batch : {1, 32, 128, 256}) {
    if (small && batch > 32) break;
    const Workload w{batch, 1, small ? 8 : 128, small ? 4 : 64, 0};
    const Prompts prompts(w, shape.vocab);
    sample(m, prompts, {batch, 1, w.prompt, 2, 0}, batch);
    const vf::SampleOutput out = sample(m, prompts, w, batch);
    // what a pass reads at least: all weights, and the keys and values that a row sees halfway
    const double bytes = weight_bytes + batch * key_bytes * (w.prompt + w.tokens / 2.0);
    row("decode", std::string(shape.name) + (recorded ? " graphs" : "") + " batch " + std::to_string(batch),
        {{"tokens_per_s", static_cast<double>(out.decode_tokens) / out.decode_seconds},
         {"of_bandwidth_bound",
          static_cast<double>(out.decode_tokens) / batch / out.decode_seconds / (peak_bytes / bytes)},
         {"kv_bytes_a_token", key_bytes},
         {"prefill_s", out.prefill_seconds},
         {"recorded_passes", static_cast<double>(vf::recorded_launches(*m.ops))}});
  }
}

void decode_stage(const Shape& shape, bool small) {
  decode_rows(shape, small, false);
  decode_rows(shape, small, true);
}

// Products of a layer, own kernel or cuBLASLt (VF_CUBLASLT); the seconds of all of them for one row of one layer.
double product_rows(const Shape& s, int64_t rows, const char* name) {
  double seconds = 0;
  const auto ops = vf::make_cuda_backend({0, true});
  const int64_t widths[][2] = {{(s.heads + 2 * s.kv_heads) * s.head_dim, s.hidden},
                               {s.hidden, s.heads * s.head_dim},
                               {2 * s.ffn, s.hidden},
                               {s.hidden, s.ffn}};
  for (const auto& [out, in] : widths) {
    const auto device = [&](int64_t count) {
      const std::vector<float> host = random_floats(static_cast<size_t>(count), 0.05f, 3);
      float* p = static_cast<float*>(ops->allocate(host.size() * sizeof(float)));
      ops->upload(p, host.data(), host.size() * sizeof(float));
      return p;
    };
    float *x = device(rows * in), *w = device(out * in), *y = device(rows * out), *dw = device(out * in);
    const auto timed = [&](auto&& run) {
      for (int i = 0; i < 2; i++) run();
      ops->synchronize();
      const double begin = now();
      constexpr int repeats = 10;
      for (int i = 0; i < repeats; i++) run();
      ops->synchronize();
      const double took = (now() - begin) / repeats;
      seconds += took;
      return 2.0 * static_cast<double>(rows * out * in) / took / 1e12;
    };
    row("train", std::string(name) + " " + std::to_string(rows) + "x" + std::to_string(out) + "x" + std::to_string(in),
        {{"nt_tflops", timed([&] {
            ops->matmul({rows, out, in, x, w, nullptr, y, false});
          })},
         {"nn_tflops", timed([&] {
            ops->matmul_input_grad({rows, out, in, y, w, x, false});
          })},
         {"tn_tflops", timed([&] {
            ops->matmul_weight_grad({rows, out, in, y, x, dw, nullptr});
          })}});
    for (float* p : {x, w, y, dw}) ops->release(p);
  }
  return seconds / static_cast<double>(rows);
}

void train_stage(bool small) {
  const Shape& s = small ? small_shape : shapes[0];
  const double product_seconds = product_rows(s, small ? 40 : 8192, "own kernel");
  setenv("VF_CUBLASLT", "1", 1);
  try {
    product_rows(s, small ? 40 : 8192, "cuBLASLt");
  } catch (const vf::Error& e) {
    std::printf("train    cuBLASLt: %s\n", e.what());
  }
  unsetenv("VF_CUBLASLT");
  const Workload w = small ? Workload{2, 2, 12, 4, 3} : Workload{8, 8, 256, 24, 8};
  step_stage("train", s, w, small ? 64 : 8192, small ? 1 : 3, product_seconds);
  if (!small) step_stage("train", shapes[1], w, 8192, 2, product_rows(shapes[1], 8192, "own kernel 1.7b"));
}

void logprob_stage(bool small) {
  const int64_t rows = small ? 20 : 16384, hidden = small ? 32 : 1024, vocab = small ? 500 : 151936;
  const auto ops = vf::make_cuda_backend({0, true});
  const auto device = [&](const std::vector<float>& host) {
    float* p = static_cast<float*>(ops->allocate(host.size() * sizeof(float)));
    ops->upload(p, host.data(), host.size() * sizeof(float));
    return p;
  };
  float *x = device(random_floats(static_cast<size_t>(rows * hidden), 1, 1)),
        *head = device(random_floats(static_cast<size_t>(vocab * hidden), 0.05f, 2));
  float *weight = device(random_floats(static_cast<size_t>(rows), 1, 3)),
        *dx = device(std::vector<float>(static_cast<size_t>(rows * hidden)));
  float *dhead = device(std::vector<float>(static_cast<size_t>(vocab * hidden))),
        *logprob = device(std::vector<float>(static_cast<size_t>(rows)));
  std::vector<int32_t> ids(static_cast<size_t>(rows));
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int32_t>(i * 7919 % vocab);
  int32_t* targets = static_cast<int32_t*>(ops->allocate(ids.size() * 4));
  ops->upload(targets, ids.data(), ids.size() * 4);
  vf::TokenStats stats;
  // the bf16 copy of the head belongs to the weights: made before the memory is read
  ops->logprob({1, hidden, vocab, x, head, targets, 1, logprob, nullptr});
  ops->synchronize();
  const double before = free_memory();
  const vf::LogprobLossArgs args{rows,    hidden,  vocab, x,  head, targets, 1,       weight, nullptr, true,
                                 nullptr, nullptr, -1,    -1, 0,    0,       logprob, dx,     dhead,   &stats};
  ops->logprob_loss(args);
  const double extra = before - free_memory();
  double best = 1e9, forward = 1e9;
  for (int i = 0; i < 5; i++) {
    double begin = now();
    ops->logprob_loss(args);
    best = std::min(best, now() - begin);
    begin = now();
    ops->logprob({rows, hidden, vocab, x, head, targets, 1, logprob, nullptr});
    ops->synchronize();
    forward = std::min(forward, now() - begin);
  }
  row("logprob", std::to_string(rows) + "x" + std::to_string(hidden) + "x" + std::to_string(vocab),
      {{"forward_ms", forward * 1e3}, {"forward_backward_ms", best * 1e3}, {"extra_gb", extra / 1e9}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string stage = argc > 1 ? argv[1] : "";
  const bool small = argc > 3 && std::strcmp(argv[3], "small") == 0;
  const vf::CudaInfo info = vf::cuda_info();
  if (info.devices.empty() && !(info.simulated && small)) {
    std::printf("no GPU: %s\n", info.reason.c_str());
    return 3;
  }
  if (stage == "probe") return 0;
  if (argc > 2) json_file = std::fopen(argv[2], "a");
  try {
    if (stage == "train")
      train_stage(small);
    else if (stage == "decode")
      decode_stage(small ? small_shape : shapes[0], small);
    else if (stage == "logprob")
      logprob_stage(small);
    else if (stage == "step")
      step_stage("step", small ? small_shape : shapes[0],
                 small ? Workload{2, 2, 12, 4, 3} : Workload{8, 8, 256, 512, 8}, small ? 64 : 8192, small ? 1 : 2);
    else {
      std::printf("usage: gpu_bench train|decode|logprob|step FILE [small]\n");
      return 2;
    }
  } catch (const vf::Error& e) {
    std::printf("FAILED: %s: %s\n", e.code().c_str(), e.what());
    return 1;
  }
  return 0;
}
