// Policy weights against numbers worked out by hand and finite differences of the reward.
#include "guarded.h"

using namespace vf_test;

namespace {

// Groups of traces of continuations of token log-probs.
using Trace = std::vector<std::vector<float>>;
using Group = std::vector<Trace>;

struct Outcome {
  std::vector<float> log_reward, reward, advantage, trace_weight, answer_weight;
  std::vector<int32_t> skipped;
};

struct Options {
  vf::RewardKind reward = vf::RewardKind::probability;
  vf::AdvantageKind advantage = vf::AdvantageKind::rloo;
  vf::AnswerWeight answer = vf::AnswerWeight::exact;
  double exponent = 1, scale = 1;
  std::vector<float> given;
};

Outcome weights_of(const std::vector<Group>& groups, const Options& o) {
  std::vector<int32_t> group_offsets = {0}, continuation_offsets = {0}, answer_offsets = {0};
  std::vector<float> logprob;
  for (const Group& g : groups) {
    for (const Trace& t : g) {
      for (const auto& c : t) {
        logprob.insert(logprob.end(), c.begin(), c.end());
        answer_offsets.push_back(static_cast<int32_t>(logprob.size()));
      }
      continuation_offsets.push_back(static_cast<int32_t>(answer_offsets.size() - 1));
    }
    group_offsets.push_back(static_cast<int32_t>(continuation_offsets.size() - 1));
  }
  const size_t n = continuation_offsets.size() - 1;
  Outcome r;
  for (auto* v : {&r.log_reward, &r.reward, &r.advantage, &r.trace_weight}) v->resize(n);
  r.answer_weight.resize(logprob.size());
  r.skipped.resize(groups.size());
  static const auto ops = vf::make_cpu_backend({});
  ops->policy_weights({static_cast<int32_t>(n), static_cast<int32_t>(groups.size()), group_offsets.data(),
                       continuation_offsets.data(), answer_offsets.data(), logprob.data(),
                       o.given.empty() ? nullptr : o.given.data(), o.reward, o.advantage, o.answer, o.exponent, o.scale,
                       r.log_reward.data(), r.reward.data(), r.advantage.data(), r.trace_weight.data(),
                       r.answer_weight.data(), r.skipped.data()});
  return r;
}

float ln(double p) { return static_cast<float>(std::log(p)); }
void near(const std::vector<float>& got, const std::vector<double>& want, const char* what) {
  check(got.size() == want.size(), what);
  for (size_t i = 0; i < got.size(); i++)
    check(std::isnan(want[i]) ? std::isnan(got[i])
                              : got[i] == want[i] || std::fabs(got[i] - want[i]) <= 2e-7 * std::fabs(want[i]) + 2e-8,
          std::string(what) + ": " + std::to_string(got[i]) + " instead of " + std::to_string(want[i]));
}

void test_probability() {
  // R = 0.2, 0.5, 0 (no border), 0.1
  const std::vector<Group> groups = {{{{ln(0.5), ln(0.4)}}, {{ln(0.5)}}, {}, {{ln(0.1)}}}};
  Options o;
  o.scale = 0.25;
  Outcome r = weights_of(groups, o);
  near(r.reward, {0.2, 0.5, 0, 0.1}, "R");
  near(r.log_reward, {std::log(0.2), std::log(0.5), -INFINITY, std::log(0.1)}, "log R");
  near(r.advantage, {0.2 - 0.6 / 3, 0.5 - 0.3 / 3, -0.8 / 3, 0.1 - 0.7 / 3}, "leave-one-out advantages");
  near(r.trace_weight, {0, 0.1, -0.8 / 12, (0.1 - 0.7 / 3) / 4}, "trace weights");
  near(r.answer_weight, {0.05, 0.05, 0.125, 0.025}, "exact answer weights are R");
  check(r.skipped[0] == 0, "not skipped");
  double sum = 0;
  for (const float a : r.advantage) sum += a;
  check_close(std::fabs(sum), 1e-7, "advantages sum to zero");
  o.advantage = vf::AdvantageKind::mean;
  o.answer = vf::AnswerWeight::advantage;
  r = weights_of(groups, o);
  near(r.advantage, {0, 0.3, -0.2, -0.1}, "advantages against the mean");
  near(r.answer_weight, {0, 0, 0.075, -0.025}, "answers weighted by the advantage");
  o.advantage = vf::AdvantageKind::none;
  o.answer = vf::AnswerWeight::one;
  r = weights_of(groups, o);
  near(r.advantage, {0.2, 0.5, 0, 0.1}, "no baseline");
  near(r.answer_weight, {0.25, 0.25, 0.25, 0.25}, "answers weighted by one");
  o.advantage = vf::AdvantageKind::standardized;
  o.answer = vf::AnswerWeight::none;
  r = weights_of(groups, o);
  const double deviation = std::sqrt((0.09 + 0.04 + 0.01) / 3) + 1e-6;
  near(r.advantage, {0, 0.3 / deviation, -0.2 / deviation, -0.1 / deviation}, "standardized advantages");
  near(r.answer_weight, {0, 0, 0, 0}, "answers without weight");
  passed("probability rewards give the advantages and weights worked out by hand");
}

void test_ties() {
  const std::vector<float> lp = {-0.12345f, -3.21f};
  const std::vector<Group> groups = {Group(7, Trace{lp}), Group(5)};
  for (const auto advantage : {vf::AdvantageKind::rloo, vf::AdvantageKind::mean, vf::AdvantageKind::standardized}) {
    Options o;
    o.advantage = advantage;
    const Outcome r = weights_of(groups, o);
    for (const float a : r.advantage) check(a == 0, "equal rewards give exactly 0");
    check(r.answer_weight[0] > 0, "a group of equal rewards still trains its answers");
    check(r.skipped[0] == 0 && r.skipped[1] == 0, "equal or zero rewards are no rule to skip a group");
  }
  const Outcome tiny = weights_of({{{std::vector<float>(40, -5)}, {std::vector<float>(41, -5)}}}, {});
  check(tiny.reward[0] == 0 && tiny.log_reward[0] == -200 && tiny.log_reward[1] == -205,
        "an underflow to 0 keeps its log R");
  passed("equal rewards give exactly 0, and log R survives the underflow of R");
}

void test_log_probability() {
  Options o;
  o.reward = vf::RewardKind::log_probability;
  const Outcome r = weights_of({{{{-1, -2}}, {}, {{-5}}}, {{}, {}}}, o);
  near(r.reward, {-3, -5, -5, -INFINITY, -INFINITY}, "a trace without continuation takes the lowest log R");
  near(r.advantage, {2, -1, -1, 0, 0}, "advantages of log R");
  near(r.answer_weight, {1, 1, 1}, "weights of log R are 1");
  check(r.skipped[0] == 0 && r.skipped[1] == 1, "a group without any log R is skipped");
  // two references from one trace
  const Outcome two = weights_of({{{{ln(0.3)}, {ln(0.1)}}, {{ln(0.2)}}}}, o);
  near(two.reward, {std::log(0.4), std::log(0.2)}, "log R over two references");
  near(two.answer_weight, {0.75, 0.25, 1}, "weights of two references");
  passed("log-probability rewards fall back to the group's lowest and skip a group without one");
}

void test_given() {
  Options o;
  o.reward = vf::RewardKind::given;
  o.given = {1, 0, NAN, 0.5f};
  Outcome r = weights_of({{{{-1}}, {{-1}}, {{-1}}, {}}}, o);
  near(r.advantage, {0.75, -0.75, 0, 0}, "a missing reward is out of the baseline");
  near(r.answer_weight, {1, 0, 0}, "answers weighted by the given reward");
  check(std::isnan(r.reward[2]) && r.trace_weight[2] == 0, "a missing reward has weight 0");
  o.given = {1, NAN, NAN, NAN};
  check(weights_of({{{{-1}}, {{-1}}, {{-1}}, {}}}, o).skipped[0] == 1, "one known reward has nobody to compare with");
  o.advantage = vf::AdvantageKind::given;
  o.reward = vf::RewardKind::probability;
  o.given = {2, -3, NAN, 0};
  r = weights_of({{{{ln(0.5)}}, {{ln(0.25)}}, {{-1}}, {}}}, o);
  near(r.trace_weight, {2, -3, NAN, 0}, "given advantages pass through, NaN included");
  near(r.answer_weight, {0.5, 0.25, std::exp(-1.0)}, "answers keep their reward");
  passed("given rewards and advantages: missing ones are left out of the baseline");
}

// d R / d logprob of every answer token equals the finite difference of R.
void test_exact() {
  const std::vector<Group> groups = {{{{-0.5f, -1.25f, -0.25f}, {-1.5f, -2.0f}}, {{-0.75f, -1.0f}}}};
  for (const auto kind :
       {vf::RewardKind::probability, vf::RewardKind::mean_probability, vf::RewardKind::log_probability})
    for (const double k : {1.0, 0.5, 2.0}) {
      Options o;
      o.reward = kind;
      o.exponent = kind == vf::RewardKind::log_probability ? 1 : k;
      const Outcome r = weights_of(groups, o);
      size_t token = 0;
      for (size_t t = 0; t < 2; t++)
        for (size_t c = 0; c < groups[0][t].size(); c++)
          for (size_t i = 0; i < groups[0][t][c].size(); i++) {
            const float h = 0x1p-7f;
            std::vector<Group> up = groups, down = groups;
            up[0][t][c][i] += h;
            down[0][t][c][i] -= h;
            const double slope = (double(weights_of(up, o).reward[t]) - weights_of(down, o).reward[t]) / (2 * h);
            check_close(std::fabs(slope - r.answer_weight[token]), 2e-5, "exact weight against a finite difference");
            token++;
          }
    }
  passed("exact answer weights are the derivative of every reward, with exponents and two references");
}

}  // namespace

int main() {
  test_probability();
  test_ties();
  test_log_probability();
  test_given();
  test_exact();
  return 0;
}
