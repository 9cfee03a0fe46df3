// What the CUDA backend takes of device memory, through the shim: the error when there is none left, and the most that
// log-probs of the stated size need beside their operands. Kernels are not run (vf_shim::dry).
#include "../core/error.h"
#include "../cuda/backend.h"
#include "cuda_shim.h"

namespace {

void check(bool ok, const std::string& what) {
  if (ok) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

void out_of_memory() {
  const auto ops = vf::make_cuda_backend({});
  const size_t limit = vf_shim::memory_limit;
  vf_shim::memory_limit = vf_shim::memory_used + 5000000;
  void* kept = ops->allocate(3000000);
  std::string code, text;
  try {
    ops->allocate(4000000);
  } catch (const vf::Error& e) {
    code = e.code();
    text = e.what();
  }
  check(code == "VF_OUT_OF_MEMORY", "an allocation beyond the device's memory is VF_OUT_OF_MEMORY, not " + code);
  check(text.find("Expected 4000000 bytes of GPU memory but 19") == 0 && text.find(" are free") != std::string::npos,
        "the error names what was asked for and what was free: " + text);
  // a block that was kept for reuse is given up before an allocation fails
  void* small = ops->allocate(900000);
  ops->release(small);
  ops->release(kept);
  ops->release(ops->allocate(4900000));
  vf_shim::memory_limit = limit;
  std::printf("memory: %s\n", text.c_str());
}

// Most bytes that one forward and backward pass of log-probs takes beside its arguments and the head's bf16 copy.
double logprob_extra(int64_t rows, int64_t hidden, int64_t vocab, bool bf16) {
  const auto ops = vf::make_cuda_backend({0, bf16});
  const auto floats = [&](int64_t count) {
    return static_cast<float*>(ops->allocate(static_cast<size_t>(count) * sizeof(float)));
  };
  float *x = floats(rows * hidden), *head = floats(vocab * hidden), *dx = floats(rows * hidden),
        *dhead = floats(vocab * hidden), *weight = floats(rows), *logprob = floats(rows), *entropy = floats(rows);
  const int32_t* targets = reinterpret_cast<int32_t*>(floats(rows));
  const double copy = bf16 ? 2.0 * static_cast<double>((vocab + 7) / 8 * 8) * static_cast<double>(hidden) : 0;
  const size_t before = vf_shim::memory_peak = vf_shim::memory_used;
  vf::TokenStats stats;
  ops->logprob({rows, hidden, vocab, x, head, targets, 1, logprob, entropy});
  vf::LogprobLossArgs loss{};
  loss.rows = rows;
  loss.hidden = hidden;
  loss.vocab = vocab;
  loss.x = x;
  loss.head = head;
  loss.targets = targets;
  loss.inv_temperature = 1;
  loss.weight = weight;
  loss.old_logprob = weight;
  loss.clip_low = loss.clip_high = 0.2f;
  loss.logprob = logprob;
  loss.dx = dx;
  loss.dhead = dhead;
  loss.stats = &stats;
  ops->logprob_loss(loss);
  return static_cast<double>(vf_shim::memory_peak - before) - copy;
}

void logprob_memory() {
  vf_shim::dry = true;
  vf_shim::memory_limit = size_t{64} << 30;
  for (const int64_t hidden : {1024, 2048, 4096})
    for (const bool bf16 : {true, false}) {
      const double extra = logprob_extra(16384, hidden, 151936, bf16);
      std::printf("logprob 16384 x %d x 151936 %s: %.3f GB beside its arguments\n", static_cast<int>(hidden),
                  bf16 ? "bf16" : "f32", extra / 1e9);
      check(extra > 1e8 && extra <= 0.3e9, "log-probs take at most 0.3 GB beside their arguments");
    }
  vf_shim::dry = false;
}

}  // namespace

int main() {
  out_of_memory();
  logprob_memory();
  std::printf("cuda memory: ok\n");
  return 0;
}
