// Two VeriFree steps of a 2-layer model, whole: sampling with forced borders and teacher-forced answers, rewards,
// gradients, AdamW; the CUDA backend against the CPU's. And with two mini-batches and a large step, the second one's
// ratios.
#include "../core/control.h"
#include "../model/generate.h"
#include "../model/train_step.h"
#include "cuda_parity.h"

using namespace vf_test;

namespace {

vf::Spec tiny_spec() {
  vf::Spec s;
  s.layers = 2;
  s.hidden = 48;
  s.heads = 4;
  s.kv_heads = 2;
  s.head_dim = 64;
  s.ffn = 72;
  s.vocab = 140;
  s.qk_norm = true;
  s.max_positions = 512;
  return s;
}
constexpr int usable_vocab = 130, groups = 2, samples = 3;

struct Model {
  std::unique_ptr<vf::Ops> ops;
  vf::Weights weights;
  vf::Network network;

  explicit Model(std::unique_ptr<vf::Ops> backend)
      : ops(std::move(backend)), weights(*ops, tiny_spec(), true), network(weights) {
    Floats values(weights.arena_count());
    Numbers(3).fill(values, 0.15f);
    float* base = weights.arena(vf::Arena::weight);
    const auto ones = [&](const float* at, int count) {
      for (int i = 0; i < count; i++) values[at - base + i] = 1;
    };
    const vf::Spec& s = weights.spec();
    for (const vf::LayerWeights& l : weights.weights().layers) {
      ones(l.attention_norm, s.hidden);
      ones(l.mlp_norm, s.hidden);
      ones(l.q_norm, s.head_dim);
      ones(l.k_norm, s.head_dim);
    }
    ones(weights.weights().final_norm, s.hidden);
    ops->upload(base, values.data(), values.size() * sizeof(float));
    ops->weights_changed();
  }
  Floats arena(vf::Arena which) {
    Floats values(weights.arena_count());
    ops->download(values.data(), weights.arena(which), values.size() * sizeof(float));
    return values;
  }
};

// The prompts and reference answers of the batch.
struct Questions {
  std::vector<int32_t> prompt_ids, prompt_offsets{0}, answer_ids, answer_offsets{0}, per_prompt{0}, sample_counts,
      firsts, occurrences;
  std::vector<std::string> bytes;
  Questions() : bytes(140, "x") {
    Numbers n(17);
    for (int g = 0; g < groups; g++) {
      for (int i = 0; i < 9 + 12 * g; i++) prompt_ids.push_back(static_cast<int32_t>(n.next() % usable_vocab));
      prompt_offsets.push_back(static_cast<int32_t>(prompt_ids.size()));
      for (int c = 0; c < 1 + g; c++) {
        for (int i = 0; i < 3; i++) answer_ids.push_back(static_cast<int32_t>(n.next() % usable_vocab));
        answer_offsets.push_back(static_cast<int32_t>(answer_ids.size()));
      }
      per_prompt.push_back(static_cast<int32_t>(answer_offsets.size()) - 1);
      sample_counts.push_back(samples);
      firsts.push_back(0);
      occurrences.push_back(g);
    }
  }
};

vf::SampleOutput sample(Model& m, const Questions& q, uint32_t step, int max_tokens = 7) {
  vf::SampleRequest r;
  r.prompts = {q.prompt_ids.data(), q.prompt_offsets.data(), groups};
  r.samples = q.sample_counts.data();
  r.first_sample = q.firsts.data();
  r.occurrences = q.occurrences.data();
  r.seed = 11;
  r.step = step;
  r.max_tokens = max_tokens;
  r.force_border = {5, 6};
  r.stop.border = "<answer";
  r.continuations = {q.answer_ids.data(), q.answer_offsets.data(), static_cast<int32_t>(q.answer_offsets.size()) - 1};
  r.continuation_offsets = q.per_prompt.data();
  r.max_batch = 4;
  r.usable_vocab = usable_vocab;
  r.token_bytes = &q.bytes;
  vf::Control control;
  return vf::generate(m.network, r, control);
}

// A step's request with the memory that its forest points to.
struct Batch {
  std::vector<int32_t> ids, offsets{0}, parents;
  vf::StepRequest r;

  Batch(const Questions& q, const vf::SampleOutput& out) {
    const auto segment = [&](const int32_t* begin, int count, int parent) {
      ids.insert(ids.end(), begin, begin + count);
      offsets.push_back(static_cast<int32_t>(ids.size()));
      parents.push_back(parent);
      return static_cast<int32_t>(parents.size()) - 1;
    };
    r.group_offsets = {0};
    r.continuation_offsets = {0};
    r.answer_offsets = {0};
    int trace = 0;
    for (int g = 0; g < groups; g++) {
      const int prompt =
          segment(q.prompt_ids.data() + q.prompt_offsets[g], q.prompt_offsets[g + 1] - q.prompt_offsets[g], -1);
      for (int s = 0; s < samples; s++, trace++) {
        const int length = out.offsets[trace + 1] - out.offsets[trace];
        const int own = segment(out.ids.data() + out.offsets[trace], length, prompt);
        span(own, length, 0, trace);
        r.old_logprobs.insert(r.old_logprobs.end(), out.logprobs.begin() + out.offsets[trace],
                              out.logprobs.begin() + out.offsets[trace + 1]);
        int at = out.continuation_offsets[trace];
        for (int c = q.per_prompt[g]; c < q.per_prompt[g + 1]; c++) {
          const int answer = q.answer_offsets[c + 1] - q.answer_offsets[c];
          span(segment(q.answer_ids.data() + q.answer_offsets[c], answer, own), answer, 1, trace);
          for (int i = 0; i < answer; i++, at++) {
            r.old_logprobs.push_back(out.continuation_logprobs[at]);
            r.answer_logprobs.push_back(out.continuation_logprobs[at]);
          }
          r.answer_offsets.push_back(static_cast<int32_t>(r.answer_logprobs.size()));
        }
        r.continuation_offsets.push_back(static_cast<int32_t>(r.answer_offsets.size()) - 1);
      }
      r.group_offsets.push_back(trace);
    }
    r.length_divisor = 10;
    r.micro_batch_tokens = 64;
    r.usable_vocab = usable_vocab;
    r.optimizer.lr = 1e-3;
    r.optimizer.clip_norm = 1;
    r.forest = {ids.data(), offsets.data(), parents.data(), static_cast<int32_t>(parents.size())};
  }
  void span(int segment, int length, int role, int trace) {
    r.spans.push_back({segment, 0, length, role});
    r.span_trace.push_back(trace);
  }
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < a.size() && i < b.size(); i++) worst = std::max(worst, std::fabs(double(a[i]) - b[i]));
  return worst;
}
double relative(double a, double b) { return std::fabs(a - b) / (std::fabs(b) + 1e-12); }

void two_steps(bool bf16) {
  Model cpu(vf::make_cpu_backend({})), cuda(vf::make_cuda_backend({0, bf16}));
  const Questions q;
  const double logprob_limit = bf16 ? 0.05 : 2e-5, gradient_limit = bf16 ? 2e-3 : 1e-7;
  const char* dtype = bf16 ? "bf16" : "f32";
  for (uint32_t step = 0; step < 2; step++) {
    const vf::SampleOutput want = sample(cpu, q, step), got = sample(cuda, q, step);
    // rounding may turn a draw in bf16: then only the first log-probs speak of the same tokens
    if (!bf16) check(got.ids == want.ids && got.finish == want.finish, "the two backends sample the same tokens");
    const double sampled = distance(got.logprobs, want.logprobs),
                 answers = distance(got.continuation_logprobs, want.continuation_logprobs);
    if (!bf16) check_close(std::max(sampled, answers), logprob_limit, "sampled log-probs");
    Batch batch(q, want);
    batch.r.optimizer.updates_done = step;
    batch.r.recompute = step == 1;
    vf::Control control;
    const vf::StepOutput a = vf::train_step(cpu.network, batch.r, control),
                         b = vf::train_step(cuda.network, batch.r, control);
    check(distance(b.reward, a.reward) <= 1e-6 && distance(b.advantage, a.advantage) <= 1e-6, "rewards and advantages");
    check_close(distance(b.logprobs, a.logprobs), logprob_limit, std::string("training log-probs in ") + dtype);
    check_close(nmse(cuda.arena(vf::Arena::grad), cpu.arena(vf::Arena::grad)), gradient_limit,
                std::string("gradients in ") + dtype);
    check_close(relative(b.grad_norms[0], a.grad_norms[0]), bf16 ? 0.02 : 1e-4, "gradient norm");
    check_close(nmse(cuda.arena(vf::Arena::weight), cpu.arena(vf::Arena::weight)), bf16 ? 1e-4 : 1e-6,
                "weights after the step");
    check(a.ratio_max == 1 && b.ratio_max == 1 && b.ratio_min == 1, "with one update the ratio is 1 by definition");
    std::printf("step %u %s: log-probs within %.1e, gradient nmse %.1e, mismatch %.1e\n", step, dtype,
                distance(b.logprobs, a.logprobs), nmse(cuda.arena(vf::Arena::grad), cpu.arena(vf::Arena::grad)),
                b.mismatch_mean);
  }
  passed(bf16 ? "two steps in bf16 stay near the CPU's" : "two steps in f32 match the CPU's");
}

void ratios() {
  Model cpu(vf::make_cpu_backend({})), cuda(vf::make_cuda_backend({0, false}));
  const Questions q;
  Batch batch(q, sample(cpu, q, 0));
  batch.r.mini_batches = 2;
  batch.r.optimizer.lr = 0.02;
  batch.r.clip_low = batch.r.clip_high = 0.2;
  vf::Control control;
  const vf::StepOutput a = vf::train_step(cpu.network, batch.r, control),
                       b = vf::train_step(cuda.network, batch.r, control);
  check(b.updates == 2 && std::max(b.ratio_max - 1, 1 - b.ratio_min) > 0.01,
        "the second mini-batch's ratios differ from 1");
  check_close(std::max(relative(b.ratio_max, a.ratio_max), relative(b.ratio_min, a.ratio_min)), 5e-3,
              "ratios of the second mini-batch");
  std::printf("ratios [%.4f, %.4f] on %s, [%.4f, %.4f] on the CPU\n", b.ratio_min, b.ratio_max, cuda.ops->name(),
              a.ratio_min, a.ratio_max);
  passed("two mini-batches and a large step: the second one's ratios differ from 1 and match the CPU's");
}

void same_bits() {
  const Questions q;
  std::vector<Floats> grads;
  for (int run = 0; run < 2; run++) {
    Model cuda(vf::make_cuda_backend({0, true}));
    Batch batch(q, sample(cuda, q, 0));
    vf::Control control;
    vf::train_step(cuda.network, batch.r, control);
    grads.push_back(cuda.arena(vf::Arena::grad));
  }
  check(grads[0].same_bits(grads[1]), "gradients have the same bits in both runs");
  passed("the same step twice gives the same bits");
}

// After the first step of a size no training step takes device memory or gives it back, and a sampling call does so
// only around its passes: as often for many of them as for few.
void steps_allocate_nothing(bool bf16) {
  Model cuda(vf::make_cuda_backend({0, bf16}));
  const Questions q;
  Batch batch(q, sample(cuda, q, 0));
  vf::Control control;
  vf::train_step(cuda.network, batch.r, control);
  for (int32_t step = 1; step < 3; step++) {
    const uint64_t before = vf::memory_changes(*cuda.ops);
    batch.r.optimizer.updates_done = step;
    vf::train_step(cuda.network, batch.r, control);
    check(vf::memory_changes(*cuda.ops) == before, "a training step allocates nothing");
  }
  uint64_t changes[2];
  for (const int i : {0, 1}) {
    sample(cuda, q, 1, 5 + 8 * i);
    const uint64_t before = vf::memory_changes(*cuda.ops);
    sample(cuda, q, 1, 5 + 8 * i);
    changes[i] = vf::memory_changes(*cuda.ops) - before;
  }
  std::printf("sampling takes and gives back %d and %d blocks\n", static_cast<int>(changes[0]),
              static_cast<int>(changes[1]));
  check(changes[0] == changes[1], "decoding a token allocates nothing");
  passed(bf16 ? "steps in bf16 allocate nothing" : "steps in f32 allocate nothing");
}

// Greedy and drawn traces of unlike lengths in few slots, one of them behind a prompt long enough for split keys.
vf::SampleOutput sample_many(Model& m, float temperature) {
  std::vector<int32_t> ids, offsets{0}, counts{5, 2, 3}, firsts{0, 0, 0}, occurrences{0, 1, 2};
  Numbers n(29);
  for (const int length : {3, 250, 17}) {
    for (int i = 0; i < length; i++) ids.push_back(static_cast<int32_t>(n.next() % usable_vocab));
    offsets.push_back(static_cast<int32_t>(ids.size()));
  }
  const std::vector<std::string> bytes(140, "x");
  vf::SampleRequest r;
  r.prompts = {ids.data(), offsets.data(), 3};
  r.samples = counts.data();
  r.first_sample = firsts.data();
  r.occurrences = occurrences.data();
  r.seed = 3;
  r.temperature = temperature;
  r.max_tokens = 24;
  r.eos_ids = {1, 2, 3, 4};
  r.max_batch = 6;
  r.usable_vocab = usable_vocab;
  r.token_bytes = &bytes;
  vf::Control control;
  return vf::generate(m.network, r, control);
}

void recorded_passes(bool bf16) {
  Model plain(vf::make_cuda_backend({0, bf16}));
  setenv("VF_CUDA_GRAPHS", "1", 1);
  Model recorded(vf::make_cuda_backend({0, bf16}));
  unsetenv("VF_CUDA_GRAPHS");
  for (const float temperature : {0.0f, 1.0f}) {
    const vf::SampleOutput want = sample_many(plain, temperature), got = sample_many(recorded, temperature);
    check(got.ids == want.ids && got.finish == want.finish && got.logprobs == want.logprobs,
          "recorded passes give the tokens and the log-probs of plain ones, bit for bit");
    for (Model* m : {&plain, &recorded}) {  // other weights: a stale recording would show
      Floats values = m->arena(vf::Arena::weight);
      for (size_t i = 0; i < values.size(); i++) values[i] *= 1.01f;
      m->ops->upload(m->weights.arena(vf::Arena::weight), values.data(), values.size() * sizeof(float));
      m->ops->weights_changed();
    }
  }
  const int64_t launches = vf::recorded_launches(*recorded.ops);
  check(launches > 20 && vf::recorded_launches(*plain.ops) == 0, "most passes of one size come from a recording");
  std::printf("%lld recorded passes launched\n", static_cast<long long>(launches));
  passed(bf16 ? "recorded decode passes in bf16" : "recorded decode passes in f32");
}

}  // namespace

int main() {
  two_steps(false);
  two_steps(true);
  ratios();
  same_bits();
  steps_allocate_nothing(false);
  steps_allocate_nothing(true);
  recorded_passes(false);
  recorded_passes(true);
  return 0;
}
