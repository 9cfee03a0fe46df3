// The arithmetic of policy_weights, one trace or one group at a time, in double: rewards, advantages, answer weights.
// Both backends include it; they differ in who walks the traces and in whose exp and log serve. A backend that compiles
// it for a device says so in VF_POLICY_FUNCTION.
#pragma once
#include <cmath>

#include "ops.h"

#ifndef VF_POLICY_FUNCTION
#define VF_POLICY_FUNCTION
#endif

namespace vf {

// A trace's reward and what its answer tokens' exact weights are made of.
struct TraceReward {
  double log_value;  // log R, exponent included; for log_probability this is R
  double value;      // R
  double log_base;   // log of what the exponent is applied to
  double advantage;
  int32_t best;     // mean_probability: the continuation that counts
  int32_t missing;  // no reward is known: out of the baseline, weight 0
};

// Math: static exp(double) and log(double). A struct of statics, so that no backend's object can serve the other's.
template <class Math>
struct PolicyMath {
  VF_POLICY_FUNCTION static bool is_empty(const PolicyWeightsArgs& a, int32_t c) {
    return a.answer_offsets[c] == a.answer_offsets[c + 1];
  }

  VF_POLICY_FUNCTION static double continuation_log(const PolicyWeightsArgs& a, int32_t c) {
    double sum = 0;
    for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++) sum += a.answer_logprob[t];
    return sum;
  }

  // log sum_c exp(sum_t lp) over continuations that have tokens.
  VF_POLICY_FUNCTION static double summed_log(const PolicyWeightsArgs& a, int32_t trace) {
    double largest = -INFINITY, sum = 0;
    for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
      if (is_empty(a, c)) continue;
      const double s = continuation_log(a, c);
      if (s == -INFINITY) continue;
      if (s > largest) {
        sum = sum * Math::exp(largest - s) + 1;
        largest = s;
      } else {
        sum += Math::exp(s - largest);
      }
    }
    return sum == 0 ? -INFINITY : largest + Math::log(sum);
  }

  // log of the mean token probability of the best continuation.
  VF_POLICY_FUNCTION static double mean_log(const PolicyWeightsArgs& a, int32_t trace, int32_t& best) {
    double highest = 0;
    best = -1;
    for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
      if (is_empty(a, c)) continue;
      double sum = 0;
      for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++)
        sum += Math::exp(static_cast<double>(a.answer_logprob[t]));
      const double mean = sum / (a.answer_offsets[c + 1] - a.answer_offsets[c]);
      if (best < 0 || mean > highest || mean != mean) {
        highest = mean;
        best = c;
      }
    }
    return best < 0 ? -INFINITY : Math::log(highest);
  }

  VF_POLICY_FUNCTION static TraceReward trace_reward(const PolicyWeightsArgs& a, int32_t trace) {
    TraceReward r{-INFINITY, 0, -INFINITY, 0, -1, 0};
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
        r.value = a.advantage == AdvantageKind::given ? static_cast<double>(NAN) : static_cast<double>(a.given[trace]);
        r.log_value = Math::log(r.value);
        r.missing = a.given[trace] != a.given[trace];
        return r;
    }
    r.log_value = r.log_base == -INFINITY ? -INFINITY : a.exponent * r.log_base;
    r.value = Math::exp(r.log_value);
    return r;
  }

  // What traces without a continuation take under log_probability: the lowest finite log R of the group; +inf where it
  // has none. A NaN stays.
  VF_POLICY_FUNCTION static double lowest_log(const TraceReward* rewards, int32_t count) {
    double lowest = INFINITY;
    for (int32_t i = 0; i < count; i++)
      if (rewards[i].value != -INFINITY && !(rewards[i].value >= lowest)) lowest = rewards[i].value;
    return lowest;
  }

  VF_POLICY_FUNCTION static int32_t known_rewards(const TraceReward* rewards, int32_t count) {
    int32_t known = 0;
    for (int32_t i = 0; i < count; i++) known += rewards[i].missing ? 0 : 1;
    return known;
  }

  // False where the baseline has nobody to compare with.
  VF_POLICY_FUNCTION static bool has_signal(const PolicyWeightsArgs& a, int32_t known) {
    return a.advantage == AdvantageKind::rloo ? known > 1 : known > 0;
  }

  // The advantage of trace i of the group at `begin`, before the division by the group's deviation: sums of
  // differences, so that equal rewards give exactly 0.
  VF_POLICY_FUNCTION static double raw_advantage(const PolicyWeightsArgs& a, int32_t begin, const TraceReward* rewards,
                                                 int32_t count, int32_t known, int32_t i) {
    if (rewards[i].missing) return 0;
    if (a.advantage == AdvantageKind::none) return rewards[i].value;
    if (a.advantage == AdvantageKind::given) return a.given[begin + i];
    double difference = 0;
    for (int32_t j = 0; j < count; j++)
      if (!rewards[j].missing) difference += rewards[i].value - rewards[j].value;
    if (a.advantage == AdvantageKind::rloo) return known > 1 ? difference / (known - 1) : 0;
    return difference / known;
  }

  // What the raw advantages of a group are divided by: 1 unless they are standardized.
  VF_POLICY_FUNCTION static double deviation(const PolicyWeightsArgs& a, const TraceReward* rewards, int32_t count,
                                             int32_t known) {
    if (a.advantage != AdvantageKind::standardized || known < 2) return 1;
    double squares = 0;
    for (int32_t i = 0; i < count; i++) squares += rewards[i].advantage * rewards[i].advantage;
    return sqrt(squares / (known - 1)) + 1e-6;
  }

  // d R / d logprob of token t of continuation c.
  VF_POLICY_FUNCTION static double exact_weight(const PolicyWeightsArgs& a, const TraceReward& r, int32_t c,
                                                int32_t t) {
    // Likelihood weighted by the reward; nothing where only advantages are given.
    if (a.reward == RewardKind::given) return a.advantage == AdvantageKind::given ? 0 : r.value;
    const double power = (a.exponent - 1) * r.log_base;
    if (a.reward == RewardKind::mean_probability) {
      const double n = a.answer_offsets[c + 1] - a.answer_offsets[c], log_p = a.answer_logprob[t];
      return c != r.best || log_p == -INFINITY ? 0 : a.exponent * Math::exp(power + log_p) / n;
    }
    const double log_p = continuation_log(a, c);
    if (log_p == -INFINITY) return 0;
    return a.reward == RewardKind::log_probability ? Math::exp(log_p - r.log_base)
                                                   : a.exponent * Math::exp(power + log_p);
  }

  // Everything that policy_weights returns of one trace. @param skip: its group has no signal.
  VF_POLICY_FUNCTION static void write_trace(const PolicyWeightsArgs& a, int32_t trace, const TraceReward& r,
                                             bool skip) {
    a.log_reward[trace] = static_cast<float>(r.log_value);
    a.reward_value[trace] = static_cast<float>(r.value);
    a.advantage_value[trace] = static_cast<float>(skip ? 0 : r.advantage);
    a.trace_weight[trace] = static_cast<float>(skip || r.missing ? 0 : r.advantage * a.scale);
    for (int32_t c = a.continuation_offsets[trace]; c < a.continuation_offsets[trace + 1]; c++) {
      double weight = 0;
      for (int32_t t = a.answer_offsets[c]; t < a.answer_offsets[c + 1]; t++) {
        if (skip || r.missing || a.answer_weight == AnswerWeight::none) {
          weight = 0;
        } else if (a.answer_weight == AnswerWeight::one) {
          weight = 1;
        } else if (a.answer_weight == AnswerWeight::advantage) {
          weight = r.advantage;
        } else if (t == a.answer_offsets[c] || a.reward == RewardKind::mean_probability) {
          weight = exact_weight(a, r, c, t);  // only a mean's tokens differ in weight
        }
        a.answer_token_weight[t] = static_cast<float>(weight * a.scale);
      }
    }
  }
};

}  // namespace vf
