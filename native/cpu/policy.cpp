// From answer log-probs or given rewards to the weight of every span token, in double, a group at a time.
#include <cmath>
#include <limits>
#include <vector>

#include "cpu_ops.h"
#include "scalar_math.h"

namespace vf {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A trace's reward and what its answer tokens' exact weights are made of.
struct TraceReward {
  double log_value = -infinity;  // log R, exponent included; for log_probability this is R
  double value = 0;              // R
  bool missing = false;          // no reward is known: out of the baseline, weight 0
  double log_base = -infinity;   // log of what the exponent is applied to
  int32_t best = -1;             // mean_probability: the continuation that counts
};

double continuation_log(const PolicyWeightsArgs& a, int32_t c) {
  double sum = 0;
  for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++) sum += a.answer_logprob[t];
  return sum;
}

bool is_empty(const PolicyWeightsArgs& a, int32_t c) { return a.answer_offsets[c] == a.answer_offsets[c + 1]; }

// log sum_c exp(sum_t lp) over continuations that have tokens.
double summed_log(const PolicyWeightsArgs& a, int32_t trace) {
  double largest = -infinity, sum = 0;
  for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
    if (is_empty(a, c)) continue;
    const double s = continuation_log(a, c);
    if (s == -infinity) continue;
    if (s > largest) {
      sum = sum * exp_double(largest - s) + 1;
      largest = s;
    } else {
      sum += exp_double(s - largest);
    }
  }
  return sum == 0 ? -infinity : largest + log_double(sum);
}

// log of the mean token probability of the best continuation.
double mean_log(const PolicyWeightsArgs& a, int32_t trace, int32_t& best) {
  double highest = 0;
  best = -1;
  for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
    if (is_empty(a, c)) continue;
    double sum = 0;
    for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++) sum += exp_double(a.answer_logprob[t]);
    const double mean = sum / (a.answer_offsets[c + 1] - a.answer_offsets[c]);
    if (best < 0 || mean > highest || mean != mean) {
      highest = mean;
      best = c;
    }
  }
  return best < 0 ? -infinity : log_double(highest);
}

TraceReward trace_reward(const PolicyWeightsArgs& a, int32_t trace) {
  TraceReward r;
  switch (a.reward) {
    case RewardKind::probability:
      r.log_base = summed_log(a, trace);
      break;
    case RewardKind::mean_probability:
      r.log_base = mean_log(a, trace, r.best);
      break;
    case RewardKind::log_probability:
      r.log_value = r.value = r.log_base = summed_log(a, trace);
      return r;
    case RewardKind::given:
      // With given advantages there is no reward to know.
      r.value = a.advantage == AdvantageKind::given ? std::nan("") : static_cast<double>(a.given[trace]);
      r.log_value = log_double(r.value);
      r.missing = a.given[trace] != a.given[trace];
      return r;
  }
  r.log_value = r.log_base == -infinity ? -infinity : a.exponent * r.log_base;
  r.value = exp_double(r.log_value);
  return r;
}

// Traces without a continuation take the lowest finite log R of the group; false where the group has none.
bool fill_missing_logs(TraceReward* rewards, int32_t count) {
  double lowest = infinity;
  for (int32_t i = 0; i < count; i++)
    if (rewards[i].value != -infinity && !(rewards[i].value >= lowest)) lowest = rewards[i].value;
  if (lowest == infinity) return false;
  for (int32_t i = 0; i < count; i++)
    if (rewards[i].value == -infinity) rewards[i].value = lowest;
  return true;
}

// Advantages as sums of differences, so that equal rewards give exactly 0. False where rloo has nobody to compare.
bool group_advantages(const PolicyWeightsArgs& a, int32_t begin, const TraceReward* rewards, int32_t count,
                      double* advantages) {
  int32_t known = 0;
  for (int32_t i = 0; i < count; i++) known += rewards[i].missing ? 0 : 1;
  double squares = 0;
  for (int32_t i = 0; i < count; i++) {
    advantages[i] = 0;
    if (rewards[i].missing) continue;
    double difference = 0;
    for (int32_t j = 0; j < count; j++)
      if (!rewards[j].missing) difference += rewards[i].value - rewards[j].value;
    switch (a.advantage) {
      case AdvantageKind::rloo:
        advantages[i] = known > 1 ? difference / (known - 1) : 0;
        break;
      case AdvantageKind::mean:
      case AdvantageKind::standardized:
        advantages[i] = difference / known;
        break;
      case AdvantageKind::none:
        advantages[i] = rewards[i].value;
        break;
      case AdvantageKind::given:
        advantages[i] = a.given[begin + i];
        break;
    }
    squares += advantages[i] * advantages[i];
  }
  if (a.advantage == AdvantageKind::standardized && known > 1) {
    const double deviation = std::sqrt(squares / (known - 1)) + 1e-6;
    for (int32_t i = 0; i < count; i++) advantages[i] /= deviation;
  }
  return a.advantage == AdvantageKind::rloo ? known > 1 : known > 0;
}

// d R / d logprob of token t of continuation c.
double exact_weight(const PolicyWeightsArgs& a, const TraceReward& r, int32_t c, int32_t t) {
  const double power = (a.exponent - 1) * r.log_base;
  switch (a.reward) {
    case RewardKind::probability: {
      const double log_p = continuation_log(a, c);
      return log_p == -infinity ? 0 : a.exponent * exp_double(power + log_p);
    }
    case RewardKind::mean_probability: {
      const double n = a.answer_offsets[c + 1] - a.answer_offsets[c], log_p = a.answer_logprob[t];
      return c != r.best || log_p == -infinity ? 0 : a.exponent * exp_double(power + log_p) / n;
    }
    case RewardKind::log_probability: {
      const double log_p = continuation_log(a, c);
      return log_p == -infinity ? 0 : exp_double(log_p - r.log_base);
    }
    case RewardKind::given:
      // Likelihood weighted by the reward; nothing where only advantages are given.
      return a.advantage == AdvantageKind::given ? 0 : r.value;
  }
  return 0;
}

void write_trace(const PolicyWeightsArgs& a, int32_t trace, const TraceReward& r, double advantage, bool skip) {
  a.log_reward[trace] = static_cast<float>(r.log_value);
  a.reward_value[trace] = static_cast<float>(r.value);
  a.advantage_value[trace] = static_cast<float>(skip ? 0 : advantage);
  a.trace_weight[trace] = static_cast<float>(skip || r.missing ? 0 : advantage * a.scale);
  for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
    // Only a mean's tokens differ in weight.
    double weight = 0;
    for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++) {
      if (skip || r.missing || a.answer_weight == AnswerWeight::none) {
        weight = 0;
      } else if (a.answer_weight == AnswerWeight::one) {
        weight = 1;
      } else if (a.answer_weight == AnswerWeight::advantage) {
        weight = advantage;
      } else if (t == a.answer_offsets[c] || a.reward == RewardKind::mean_probability) {
        weight = exact_weight(a, r, c, t);
      }
      a.answer_token_weight[t] = static_cast<float>(weight * a.scale);
    }
  }
}

}  // namespace

void cpu_policy_weights(CpuContext&, const PolicyWeightsArgs& a) {
  std::vector<TraceReward> rewards;
  std::vector<double> advantages;
  for (int32_t g = 0; g < a.groups; g++) {
    const int32_t begin = a.group_offsets[g], count = a.group_offsets[g + 1] - begin;
    rewards.resize(count);
    advantages.assign(count, 0.0);
    for (int32_t i = 0; i < count; i++) rewards[i] = trace_reward(a, begin + i);
    bool signal = count > 0;
    if (signal && a.reward == RewardKind::log_probability) signal = fill_missing_logs(rewards.data(), count);
    if (signal) signal = group_advantages(a, begin, rewards.data(), count, advantages.data());
    a.skipped[g] = signal ? 0 : 1;
    for (int32_t i = 0; i < count; i++) write_trace(a, begin + i, rewards[i], advantages[i], !signal);
  }
}

}  // namespace vf
