// AdamW, the squared norm, own exp and log, and the thread pool.
#include <algorithm>
#include <atomic>

#include "../cpu/pool.h"
#include "../cpu/scalar_math.h"
#include "guarded.h"

using namespace vf_test;

namespace {

void test_adamw(std::vector<Backend>& backends) {
  const int64_t count = 70001;
  Numbers numbers(6);
  Floats weight(count), grad(count);
  numbers.fill(weight);
  Floats first_weight(weight), first_v(weight);
  for (Backend& b : backends) {
    Floats w(weight), m(count), v(count);
    m.fill(0);
    v.fill(0);
    std::vector<double> ww(count), mm(count), vv(count);
    for (int64_t i = 0; i < count; i++) ww[i] = weight[i];
    Numbers steps(7);
    for (int step = 1; step <= 3; step++) {
      steps.fill(grad, 3);
      const float lr = 0.01f, beta1 = 0.9f, beta2 = 0.95f, eps = 1e-8f, decay = 0.1f, clip = 0.5f;
      const double c1 = 1 - std::pow(double(beta1), step), c2 = 1 - std::pow(double(beta2), step);
      b.ops->adamw(
          {count, w.data(), grad.data(), m.data(), v.data(), lr, beta1, beta2, eps, decay, float(c1), float(c2), clip});
      for (int64_t i = 0; i < count; i++) {
        const double g = double(grad[i]) * clip;
        ww[i] -= double(lr) * decay * ww[i];
        mm[i] = double(beta1) * mm[i] + (1 - double(beta1)) * g;
        vv[i] = double(beta2) * vv[i] + (1 - double(beta2)) * g * g;
        ww[i] -= lr * (mm[i] / c1) / (std::sqrt(vv[i] / c2) + eps);
      }
    }
    check_close(nmse(w, ww), 1e-12, b.name + " AdamW weights");
    check_close(nmse(m, mm), 1e-12, b.name + " AdamW first moment");
    check_close(nmse(v, vv), 1e-12, b.name + " AdamW second moment");
    check(w.intact() && m.intact() && v.intact(), b.name + " AdamW writes outside its arrays");
    if (&b == &backends[0]) {
      std::memcpy(first_weight.data(), w.data(), count * 4);
      std::memcpy(first_v.data(), v.data(), count * 4);
    }
    check(!b.fused || (first_weight.same_bits(w) && first_v.same_bits(v)), b.name + " AdamW has other bits");
  }
  passed("AdamW equals three steps in double and has the same bits for threads 1 and 2, AVX2 and AVX-512");
}

void test_norm(std::vector<Backend>& backends) {
  Numbers numbers(8);
  Floats x(200003);
  numbers.fill(x, 1e15f);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{17}, x.size()}) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += double(x[i]) * x[i];
    const double first = backends[0].ops->squared_norm(x.data(), count);
    check_close(std::fabs(first - sum), 1e-12 * sum, "squared norm");
    for (Backend& b : backends)
      check(b.ops->squared_norm(x.data(), count) == first, b.name + " squared norm has other bits");
  }
  x[100] = NAN;
  check(std::isnan(backends[0].ops->squared_norm(x.data(), x.size())), "a NaN stays visible in the norm");
  passed("the squared norm is exact to 1e-12 where floats would overflow, with the same bits everywhere");
}

void test_scalar_math() {
  Numbers numbers(9);
  double worst_log = 0, worst_exp = 0;
  for (int i = 0; i < 200000; i++) {
    const double wide = i % 2 ? 1400 : 0.01, t = (numbers.unit() - 0.5) * wide, x = std::exp(t);
    const long double log_truth = std::log(static_cast<long double>(x)),
                      exp_truth = std::exp(static_cast<long double>(t));
    worst_log = std::fmax(worst_log, std::fabs(double((vf::log_double(x) - log_truth) / log_truth)));
    worst_exp = std::fmax(worst_exp, std::fabs(double((vf::exp_double(t) - exp_truth) / exp_truth)));
  }
  check_close(worst_log, 4e-16, "log in double");
  check_close(worst_exp, 4e-16, "exp in double");
  check(vf::log_double(0) == -INFINITY && std::isnan(vf::log_double(-1)) && vf::log_double(INFINITY) == INFINITY &&
            vf::log_double(1) == 0,
        "borders of log");
  check(vf::exp_double(-INFINITY) == 0 && vf::exp_double(0) == 1 && vf::exp_double(710) == INFINITY &&
            std::isnan(vf::exp_double(NAN)),
        "borders of exp");
  check(vf::exp_double(-745) == std::exp(-745.0) && vf::log_double(5e-324) == std::log(5e-324), "subnormal numbers");
  passed("own exp and log are within 4e-16 and right at their borders");
}

void test_pool() {
  for (const int threads : {1, 2, 3}) {
    vf::Pool pool(threads);
    std::vector<std::atomic<int>> hits(300);
    for (int job = 0; job < 3000; job++) {
      const int tasks = job % 100 == 0 ? 300 : job % 7;
      for (int i = 0; i < tasks; i++) hits[i] = 0;
      std::atomic<bool> wrong_thread{false};
      pool.parallel_for(tasks, [&](int64_t task, int thread) {
        if (thread < 0 || thread >= threads) wrong_thread = true;
        hits[task]++;
      });
      check(!wrong_thread, "threads are numbered below threads()");
      for (int i = 0; i < tasks; i++) check(hits[i] == 1, "every task runs once before parallel_for returns");
    }
  }
  passed("the pool runs every task once");
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_adamw(backends);
  test_norm(backends);
  test_scalar_math();
  test_pool();
  return 0;
}
