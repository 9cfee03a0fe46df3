// Sampling (generate.h). One Generator lives for one call: prompts wait, their traces become alive in order as slots
// and blocks allow, each decode pass moves every living trace by one token.
#include "generate.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>

#include "block_pool.h"

namespace vf {
namespace {

// A prompt whose keys and values are in the store, shared by its traces.
struct Prefix {
  BlockList list;
  int32_t users = 0;          // traces not finished yet
  std::vector<float> hidden;  // last row, before the final norm
};

struct Trace {
  int32_t prompt = 0, sample = 0, index = 0;
  BlockList list;  // the prompt's pairs, then this trace's own
  size_t own_from = 0;
  int32_t reserved = 0;  // blocks it may still take
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  int32_t unread = 0;  // tokens at the end of ids that are not in the store yet
  Finish finish = Finish::length;
  int32_t stop_index = -1;
  StopMatcher matcher;
  std::vector<float> continuation_logprobs;

  explicit Trace(const StopRule& rule) : matcher(rule) {}
};

// Key-value memory that one call may take, in bytes, unless a single sequence needs more.
constexpr double cache_budget = 4.0e9;

class Generator {
 public:
  Generator(Network& network, const SampleRequest& request, Control& control)
      : network_(network),
        ops_(network.weights().ops()),
        spec_(network.weights().spec()),
        r_(request),
        control_(control),
        pool_(0),
        memory_(ops_),
        index_(ops_),
        targets_(ops_),
        logits_(ops_),
        logprob_(ops_),
        hidden_(ops_),
        device_(ops_) {}

  SampleOutput run();

 private:
  void plan_memory();
  void admit();
  void prefill(const std::vector<int32_t>& prompts);
  void first_tokens(std::vector<Trace*>& traces);
  void decode();
  void force_border(Trace& trace);
  void score_continuations();
  const float* head_logits(const float* normed, int64_t rows);
  void sample_rows(const float* logits, const std::vector<Trace*>& traces);
  void add_spare_rows(RowPlan& plan, int64_t rows) const;
  void accept(Trace& trace, int32_t id, float logprob);
  void finish(Trace& trace);
  void retire(Trace& trace);
  bool has_continuations(const Trace& trace) const;
  int32_t trace_reserve(int32_t prompt) const;
  const float* forward(const RowPlan& plan) {
    device_.upload(plan);
    return network_.forward(device_, stores_, control_);
  }

  Network& network_;
  Ops& ops_;
  Spec spec_;
  const SampleRequest& r_;
  Control& control_;
  BlockPool pool_;
  int32_t spare_block_ = 0;  // of rows that only fill a pass up
  int32_t promised_ = 0;     // blocks that living traces may still take
  std::vector<KvStore> stores_;
  Buffer memory_, index_, targets_, logits_, logprob_, hidden_;
  DevicePlan device_;
  std::vector<Prefix> prefixes_;
  std::deque<Trace> traces_;  // all, in the order (prompt, sample)
  std::deque<Trace*> waiting_;
  std::vector<Trace*> living_, to_score_;
  SampleOutput out_;
};

class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_;
};

bool Generator::has_continuations(const Trace& trace) const {
  return r_.continuation_offsets != nullptr &&
         r_.continuation_offsets[trace.prompt + 1] > r_.continuation_offsets[trace.prompt];
}

// Most blocks a trace of this prompt can come to own, its continuations included.
int32_t Generator::trace_reserve(int32_t prompt) const {
  int32_t blocks = blocks_for(r_.max_tokens + static_cast<int32_t>(r_.force_border.size()));
  if (r_.continuation_offsets != nullptr)
    for (int32_t c = r_.continuation_offsets[prompt]; c < r_.continuation_offsets[prompt + 1]; c++)
      blocks += blocks_for(r_.continuations.length(c));
  return blocks;
}

void Generator::plan_memory() {
  int64_t traces = 0, worst_trace = 1, worst_prompt = 1, longest = 0;
  for (int32_t p = 0; p < r_.prompts.count; p++) {
    const int32_t length = r_.prompts.length(p);
    require(length > 0, "VF_INVALID_VALUE",
            "Expected prompt " + std::to_string(p) + " to have at least one token but received none");
    for (int32_t i = 0; i < length; i++)
      require(r_.prompts.list(p)[i] >= 0 && r_.prompts.list(p)[i] < spec_.vocab, "VF_INVALID_VALUE",
              "Expected a token id below " + std::to_string(spec_.vocab) + " but received " +
                  std::to_string(r_.prompts.list(p)[i]));
    traces += r_.samples[p];
    const int64_t reserve = trace_reserve(p);
    worst_trace = std::max(worst_trace, reserve);
    worst_prompt = std::max<int64_t>(worst_prompt, blocks_for(length));
    longest = std::max<int64_t>(longest, length + r_.max_tokens + static_cast<int64_t>(r_.force_border.size()));
    if (r_.continuation_offsets != nullptr)
      for (int32_t c = r_.continuation_offsets[p]; c < r_.continuation_offsets[p + 1]; c++)
        longest = std::max<int64_t>(longest, length + r_.max_tokens + static_cast<int64_t>(r_.force_border.size()) +
                                                 r_.continuations.length(c));
  }
  require(longest <= spec_.max_positions, "VF_TOO_LONG",
          "Expected prompt + max tokens + answer within the model's " + std::to_string(spec_.max_positions) +
              " positions but they may reach " + std::to_string(longest));
  const Heads heads = spec_.attention();
  const double block_bytes =
      static_cast<double>(heads.key_block_size() + heads.value_block_size()) * ops_.kv_element_bytes() * spec_.layers;
  const int64_t most = static_cast<int64_t>(cache_budget / block_bytes);
  const int64_t alive = std::max<int64_t>(1, std::min<int64_t>(traces, r_.max_batch));
  const int64_t wanted = alive * (worst_trace + worst_prompt) + worst_prompt;
  const int64_t blocks = std::max(worst_trace + 2 * worst_prompt, std::min(wanted, most)) + 1;
  pool_ = BlockPool(static_cast<int32_t>(blocks));
  spare_block_ = pool_.next();
  pool_.take();
  stores_ = network_.make_stores(memory_, blocks);
}

SampleOutput Generator::run() {
  plan_memory();
  prefixes_.resize(static_cast<size_t>(r_.prompts.count));
  for (int32_t p = 0; p < r_.prompts.count; p++) {
    prefixes_[p].users = r_.samples[p];
    for (int32_t s = 0; s < r_.samples[p]; s++) {
      Trace& trace = traces_.emplace_back(r_.stop);
      trace.prompt = p;
      trace.sample = r_.first_sample[p] + s;
      trace.index = static_cast<int32_t>(traces_.size()) - 1;
      waiting_.push_back(&trace);
    }
  }
  control_.begin(static_cast<int64_t>(traces_.size()));
  while (!waiting_.empty() || !living_.empty() || !to_score_.empty()) {
    control_.check();
    admit();
    if (!living_.empty()) decode();
    const bool enough = static_cast<int32_t>(to_score_.size()) >= std::max(1, r_.max_batch / 4);
    if (!to_score_.empty() && (enough || living_.empty())) score_continuations();
  }
  for (Trace& trace : traces_) {
    out_.ids.insert(out_.ids.end(), trace.ids.begin(), trace.ids.end());
    out_.logprobs.insert(out_.logprobs.end(), trace.logprobs.begin(), trace.logprobs.end());
    out_.offsets.push_back(static_cast<int32_t>(out_.ids.size()));
    out_.finish.push_back(static_cast<uint8_t>(trace.finish));
    out_.stop_index.push_back(trace.stop_index);
    out_.continuation_logprobs.insert(out_.continuation_logprobs.end(), trace.continuation_logprobs.begin(),
                                      trace.continuation_logprobs.end());
    out_.continuation_offsets.push_back(static_cast<int32_t>(out_.continuation_logprobs.size()));
  }
  return std::move(out_);
}

// Waiting traces become alive while slots and blocks last; prompts not yet in the store are prefilled together.
void Generator::admit() {
  std::vector<int32_t> fresh;
  std::vector<Trace*> admitted;
  int32_t fresh_blocks = 0;
  while (!waiting_.empty() &&
         static_cast<int32_t>(living_.size() + to_score_.size() + admitted.size()) < std::max(1, r_.max_batch)) {
    Trace& trace = *waiting_.front();
    const bool needs_prefix = prefixes_[trace.prompt].hidden.empty() && (fresh.empty() || fresh.back() != trace.prompt);
    const int32_t prefix = needs_prefix ? blocks_for(r_.prompts.length(trace.prompt)) : 0;
    const int32_t reserve = trace_reserve(trace.prompt);
    if (prefix + reserve + fresh_blocks + promised_ > pool_.free_count()) break;
    if (needs_prefix) fresh.push_back(trace.prompt);
    fresh_blocks += prefix;
    promised_ += reserve;
    trace.reserved = reserve;
    admitted.push_back(&trace);
    waiting_.pop_front();
  }
  require(!admitted.empty() || !living_.empty() || !to_score_.empty() || waiting_.empty(), "VF_OUT_OF_MEMORY",
          "Expected room for one sequence in the KV store but " + std::to_string(pool_.free_count()) +
              " blocks are too few");
  if (!fresh.empty()) prefill(fresh);
  if (!admitted.empty()) first_tokens(admitted);
}

void Generator::prefill(const std::vector<int32_t>& prompts) {
  const Stopwatch watch(out_.prefill_seconds);
  constexpr int64_t most_rows = 4096;  // a pass ends when it has so many
  for (size_t next = 0; next < prompts.size();) {
    RowPlan plan;
    std::vector<int32_t> last_rows;
    const size_t from = next;
    while (next < prompts.size() && (next == from || plan.rows() + r_.prompts.length(prompts[next]) <= most_rows)) {
      Prefix& prefix = prefixes_[prompts[next]];
      const int32_t begin = static_cast<int32_t>(plan.rows());
      for (int32_t i = 0; i < r_.prompts.length(prompts[next]); i++) {
        bool used = false;
        plan.add_row(r_.prompts.list(prompts[next])[i], prefix.list, 0, pool_.next(), &used);
        if (used) pool_.take();
      }
      plan.add_run(plan.add_view(prefix.list), begin, 1);
      plan.end_family();
      last_rows.push_back(static_cast<int32_t>(plan.rows()) - 1);
      next++;
    }
    const float* hidden = forward(plan);
    for (size_t i = from; i < next; i++) {
      Prefix& prefix = prefixes_[prompts[i]];
      prefix.hidden.resize(static_cast<size_t>(spec_.hidden));
      ops_.download(prefix.hidden.data(), hidden + static_cast<int64_t>(last_rows[i - from]) * spec_.hidden,
                    prefix.hidden.size() * sizeof(float));
    }
    out_.prefill_tokens += plan.rows();
  }
}

// Traces that become alive sample their first token from their prompt's last row.
void Generator::first_tokens(std::vector<Trace*>& traces) {
  const Stopwatch watch(out_.decode_seconds);
  std::vector<float> rows;
  std::vector<int32_t> index;
  int32_t previous = -1;
  for (Trace* trace : traces) {
    const Prefix& prefix = prefixes_[trace->prompt];
    trace->list = prefix.list;
    trace->own_from = prefix.list.blocks.size();
    if (trace->prompt != previous) rows.insert(rows.end(), prefix.hidden.begin(), prefix.hidden.end());
    previous = trace->prompt;
    index.push_back(static_cast<int32_t>(rows.size()) / spec_.hidden - 1);
  }
  const float* hidden = hidden_.upload(rows);
  const float* normed = network_.final_norm(hidden, index_.upload(index), static_cast<int64_t>(index.size()), false);
  living_.insert(living_.end(), traces.begin(), traces.end());
  sample_rows(head_logits(normed, static_cast<int64_t>(index.size())), traces);
}

// Rows that no trace needs, up to `rows`: they read and write the spare block, and nobody looks at what comes out.
void Generator::add_spare_rows(RowPlan& plan, int64_t rows) const {
  BlockList list;
  while (plan.rows() < rows) {
    if (list.keys == kv_block) list = BlockList();
    bool used = false;
    const int32_t row = plan.add_row(0, list, 0, spare_block_, &used);
    plan.add_run(plan.add_view(list), row, list.keys);
    plan.end_family();
  }
}

void Generator::decode() {
  const Stopwatch watch(out_.decode_seconds);
  RowPlan plan;
  for (Trace* trace : living_) {
    bool used = false;
    const int32_t row = plan.add_row(trace->ids.back(), trace->list, trace->own_from, pool_.next(), &used);
    if (used) {
      pool_.take();
      trace->reserved--;
      promised_--;
    }
    plan.add_run(plan.add_view(trace->list), row, trace->list.keys);
    plan.end_family();
    trace->unread = 0;
  }
  const int64_t rows = ops_.decode_rows(plan.rows());
  add_spare_rows(plan, rows);
  std::vector<int32_t> index(static_cast<size_t>(rows));
  std::iota(index.begin(), index.end(), 0);
  device_.upload(plan);
  const int32_t* all = index_.upload(index);
  ops_.decode_pass({rows, spec_.attention(), device_.views, device_.runs}, [&] {
    const float* hidden = network_.forward(device_, stores_, control_);
    head_logits(network_.final_norm(hidden, all, rows, false), rows);
  });
  const std::vector<Trace*> traces = living_;
  sample_rows(logits_.floats(rows * r_.usable_vocab), traces);
}

// Logits [rows, usable_vocab] of final hidden states, in logits_.
const float* Generator::head_logits(const float* normed, int64_t rows) {
  float* logits = logits_.floats(rows * r_.usable_vocab);
  ops_.matmul({rows, r_.usable_vocab, spec_.hidden, normed, network_.weights().weights().head, nullptr, logits, false});
  return logits;
}

// Samples one token for each of `traces` from its row of logits, and takes the finished ones out of the living.
void Generator::sample_rows(const float* logits, const std::vector<Trace*>& traces) {
  const int64_t rows = static_cast<int64_t>(traces.size()), vocab = r_.usable_vocab;
  std::vector<double> uniform(traces.size());
  for (size_t i = 0; i < traces.size(); i++)
    uniform[i] =
        uniform_at(StreamKey{r_.seed, r_.purpose, r_.step, static_cast<uint32_t>(r_.occurrences[traces[i]->prompt]),
                             static_cast<uint32_t>(traces[i]->sample)},
                   static_cast<uint32_t>(traces[i]->ids.size()));
  std::vector<int32_t> ids(traces.size());
  std::vector<float> logprobs(traces.size());
  ops_.sample({rows, vocab, logits, uniform.data(), r_.temperature, r_.top_p, r_.top_k, ids.data(), logprobs.data()});
  out_.decode_tokens += rows;
  control_.tokens += rows;
  for (size_t i = 0; i < traces.size(); i++) accept(*traces[i], ids[i], logprobs[i]);
}

void Generator::accept(Trace& trace, int32_t id, float logprob) {
  require(logprob == logprob && logprob > -3.4e38f, "VF_NOT_FINITE",
          "Expected a finite log-probability from op sample but received " + std::to_string(logprob) + " in trace " +
              std::to_string(trace.index));
  trace.ids.push_back(id);
  trace.logprobs.push_back(logprob);
  trace.unread++;
  bool done = false;
  if (std::find(r_.eos_ids.begin(), r_.eos_ids.end(), id) != r_.eos_ids.end()) {
    trace.finish = Finish::eos;
    done = true;
  } else {
    done = trace.matcher.push((*r_.token_bytes)[id], &trace.finish, &trace.stop_index);
  }
  if (!done && static_cast<int32_t>(trace.ids.size()) >= r_.max_tokens) {
    trace.finish = Finish::length;
    done = true;
  }
  if (done) finish(trace);
}

void Generator::finish(Trace& trace) {
  living_.erase(std::find(living_.begin(), living_.end(), &trace));
  if (!r_.force_border.empty() && trace.finish != Finish::border) force_border(trace);
  if (trace.finish == Finish::border && has_continuations(trace))
    to_score_.push_back(&trace);
  else if (trace.unread > 1)
    to_score_.push_back(&trace);  // forced ids still need their log-probs
  else
    retire(trace);
}

void Generator::force_border(Trace& trace) {
  for (const int32_t id : r_.force_border) {
    trace.ids.push_back(id);
    trace.logprobs.push_back(0);
    trace.unread++;
  }
  trace.finish = Finish::border;
}

void Generator::retire(Trace& trace) {
  pool_.give_back(trace.list, trace.own_from);
  promised_ -= trace.reserved;
  trace.reserved = 0;
  trace.list = BlockList();
  Prefix& prefix = prefixes_[trace.prompt];
  if (--prefix.users == 0) {
    pool_.give_back(prefix.list, 0);
    prefix.list = BlockList();
  }
  control_.traces_done++;
}

// Reads the tokens of finished traces that are not in the store, then teacher-forces their continuations behind them,
// each on blocks of its own: |unread| + sum |continuation| - 1 rows a trace.
void Generator::score_continuations() {
  const Stopwatch watch(out_.continuation_seconds);
  RowPlan plan;
  std::vector<int32_t> rows, targets;
  std::vector<float*> where;
  std::vector<std::pair<BlockList, size_t>> branches;  // with where their own blocks begin
  const auto add = [&](Trace& trace, int32_t id, BlockList& list, size_t own_from) {
    bool used = false;
    const int32_t row = plan.add_row(id, list, own_from, pool_.next(), &used);
    if (used) {
      pool_.take();
      trace.reserved--;
      promised_--;
    }
    return row;
  };
  for (Trace* trace : to_score_) {
    const size_t first = trace->ids.size() - static_cast<size_t>(trace->unread);
    const int32_t begin = static_cast<int32_t>(plan.rows()), keys_begin = trace->list.keys + 1;
    int32_t last = -1;
    for (size_t i = first; i < trace->ids.size(); i++) {
      if (last >= 0) {
        rows.push_back(last);
        targets.push_back(trace->ids[i]);
        where.push_back(&trace->logprobs[i]);
      }
      last = add(*trace, trace->ids[i], trace->list, trace->own_from);
    }
    plan.add_run(plan.add_view(trace->list), begin, keys_begin);
    plan.end_family();
    if (!has_continuations(*trace)) continue;
    const int32_t from = r_.continuation_offsets[trace->prompt], to = r_.continuation_offsets[trace->prompt + 1];
    size_t filled = 0;
    for (int32_t c = from; c < to; c++) filled += static_cast<size_t>(r_.continuations.length(c));
    trace->continuation_logprobs.resize(filled);
    float* next = trace->continuation_logprobs.data();
    for (int32_t c = from; c < to; c++) {
      BlockList branch = trace->list;
      const size_t own_from = branch.blocks.size();
      const int32_t branch_begin = static_cast<int32_t>(plan.rows()), branch_keys = branch.keys + 1;
      int32_t row = last;
      for (int32_t i = 0; i < r_.continuations.length(c); i++) {
        rows.push_back(row);
        targets.push_back(r_.continuations.list(c)[i]);
        where.push_back(next++);
        if (i + 1 < r_.continuations.length(c)) row = add(*trace, r_.continuations.list(c)[i], branch, own_from);
      }
      if (plan.rows() > branch_begin) {
        plan.add_run(plan.add_view(branch), branch_begin, branch_keys);
        plan.end_family();
      }
      branches.emplace_back(std::move(branch), own_from);
    }
  }
  const float* hidden = forward(plan);
  const int64_t count = static_cast<int64_t>(rows.size());
  if (count > 0) {
    const float* normed = network_.final_norm(hidden, index_.upload(rows), count, false);
    ops_.logprob({count, spec_.hidden, r_.usable_vocab, normed, network_.weights().weights().head,
                  targets_.upload(targets), 1 / (r_.temperature > 1e-6f ? r_.temperature : 1.0f),
                  logprob_.floats(count), nullptr});
    std::vector<float> values(rows.size());
    ops_.download(values.data(), logprob_.floats(0), values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); i++) *where[i] = values[i];
  }
  out_.continuation_tokens += plan.rows();
  for (const auto& [branch, own_from] : branches) pool_.give_back(branch, own_from);
  for (Trace* trace : to_score_) retire(*trace);
  to_score_.clear();
}

}  // namespace

SampleOutput generate(Network& network, const SampleRequest& request, Control& control) {
  return Generator(network, request, control).run();
}

}  // namespace vf
