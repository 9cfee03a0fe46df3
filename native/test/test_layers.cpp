// embed, rmsnorm, qkv, swiglu, gather_rows and scatter_rows with their gradients: against double loops and finite
// differences, and bit for bit between numbers of rows, thread counts and instruction sets.
#include <functional>

#include "../cpu/layers.h"
#include "guarded.h"

using namespace vf_test;
using Doubles = std::vector<double>;

namespace {

Doubles widen(const Floats& x) { return Doubles(x.data(), x.data() + x.size()); }
Floats random_floats(size_t count, uint64_t seed, float scale = 1) {
  Floats x(count);
  Numbers(seed).fill(x, scale);
  return x;
}

// Runs compute on every backend; what it returns must be close to the truth, and equal in bits where fma is fused.
// compute returns the outputs one after another.
Floats on_all(std::vector<Backend>& backends, const Doubles& truth, const std::string& what,
              const std::function<Floats(vf::Ops&)>& compute) {
  const Floats first = compute(*backends[0].ops);
  check_close(nmse(first, truth), 1e-10, what + " on " + backends[0].name);
  for (size_t i = 1; i < backends.size(); i++) {
    const Floats other = compute(*backends[i].ops);
    check_close(nmse(other, truth), 1e-10, what + " on " + backends[i].name);
    if (backends[i].fused) check(first.same_bits(other), what + ": bits of " + backends[i].name);
  }
  return first;
}

Floats joined(std::initializer_list<const Floats*> parts) {
  size_t count = 0;
  for (const Floats* p : parts) {
    check(p->intact(), "guard words");
    count += p->size();
  }
  Floats all(count);
  float* to = all.data();
  for (const Floats* p : parts) {
    std::memcpy(to, p->data(), p->size() * 4);
    to += p->size();
  }
  return all;
}

// gradient[at] must be d loss / d x[at] for some places of x
void check_gradient(Doubles& x, const float* gradient, const std::function<double()>& loss, const std::string& what) {
  Numbers numbers(99);
  for (int i = 0; i < 24; i++) {
    const size_t at = numbers.next() % x.size();
    const double kept = x[at], h = 1e-5;
    x[at] = kept + h;
    const double up = loss();
    x[at] = kept - h;
    const double down = loss();
    x[at] = kept;
    check_close(std::abs((up - down) / (2 * h) - gradient[at]), 1e-5 * (1 + std::abs(gradient[at])),
                what + " by finite differences");
  }
}

double dot(const Doubles& a, const Floats& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

void test_rows(std::vector<Backend>& backends) {
  for (const int width : {1, 16, 24, 256, 1000}) {
    const int rows = 201, vocab = 37;
    Floats table = random_floats(size_t(vocab) * width, 1), dy = random_floats(size_t(rows) * width, 2);
    Ints ids(rows);
    Numbers numbers(3);
    for (int r = 0; r < rows; r++) ids[r] = int(numbers.next() % vocab);
    Doubles y(size_t(rows) * width), dtable = widen(table);
    for (int r = 0; r < rows; r++) {
      for (int i = 0; i < width; i++) {
        y[size_t(r) * width + i] = table[size_t(ids[r]) * width + i];
        dtable[size_t(ids[r]) * width + i] += dy[size_t(r) * width + i];
      }
    }
    const std::string where = ", width " + std::to_string(width);
    on_all(backends, y, "embed" + where, [&](vf::Ops& ops) {
      Floats out(y.size());
      ops.embed({rows, width, ids.data(), table.data(), out.data()});
      return joined({&out});
    });
    on_all(backends, y, "gather_rows" + where, [&](vf::Ops& ops) {
      Floats out(y.size());
      ops.gather_rows({rows, width, table.data(), ids.data(), out.data()});
      return joined({&out});
    });
    on_all(backends, dtable, "embed_backward" + where, [&](vf::Ops& ops) {
      Floats grad = table;
      ops.embed_backward({rows, width, ids.data(), dy.data(), grad.data()});
      return joined({&grad});
    });
    on_all(backends, dtable, "scatter_rows" + where, [&](vf::Ops& ops) {
      Floats grad = table;
      ops.scatter_rows({rows, width, dy.data(), ids.data(), grad.data()});
      return joined({&grad});
    });
  }
  passed("embed, gather_rows and their gradients equal plain loops");
}

// y = x / sqrt(mean x^2 + eps) * weight over one row, in double
void plain_norm(const double* x, const double* weight, int width, double eps, double* y) {
  double squares = 0;
  for (int i = 0; i < width; i++) squares += x[i] * x[i];
  const double r = 1 / std::sqrt(squares / width + eps);
  for (int i = 0; i < width; i++) y[i] = x[i] * r * weight[i];
}
void plain_norm_backward(const double* x, const double* weight, int width, double eps, const double* dy, double* dx,
                         double* dweight) {
  double squares = 0, products = 0;
  for (int i = 0; i < width; i++) {
    squares += x[i] * x[i];
    products += dy[i] * weight[i] * x[i];
  }
  const double r = 1 / std::sqrt(squares / width + eps);
  for (int i = 0; i < width; i++) {
    dx[i] += r * dy[i] * weight[i] - x[i] * r * r * r * products / width;
    dweight[i] += dy[i] * x[i] * r;
  }
}

void test_rmsnorm(std::vector<Backend>& backends) {
  const float eps = 1e-6f;
  for (const int width : {8, 24, 256, 1000}) {
    constexpr int rows = 150;
    static_assert(rows > 2 * vf::layer_gradient_rows, "too few rows for three partial sums");
    const std::string where = ", width " + std::to_string(width);
    const Floats x = random_floats(size_t(rows) * width, 4, 3), weight = random_floats(width, 5);
    const Floats dy = random_floats(x.size(), 6), before = random_floats(x.size(), 7);
    const Floats weight_before = random_floats(width, 8);
    Doubles dx = widen(x), dw = widen(weight), y(x.size());
    for (int r = 0; r < rows; r++) plain_norm(&dx[size_t(r) * width], &dw[0], width, eps, &y[size_t(r) * width]);
    Floats rstd(rows);
    const Floats all = on_all(backends, y, "rmsnorm" + where, [&](vf::Ops& ops) {
      Floats out(x.size());
      ops.rmsnorm({rows, width, eps, x.data(), weight.data(), out.data(), rstd.data()});
      check(rstd.intact(), "guard words of rstd");
      return joined({&out});
    });
    for (int r = 0; r < rows; r += 37) {
      Floats one(width);
      backends[0].ops->rmsnorm({1, width, eps, x.data() + size_t(r) * width, weight.data(), one.data(), nullptr});
      check(one.intact() && std::memcmp(one.data(), all.data() + size_t(r) * width, width * 4) == 0, "one row" + where);
    }
    for (const bool add : {false, true}) {
      Doubles want = add ? widen(before) : Doubles(x.size(), 0.0), dweight = widen(weight_before);
      const Doubles grad = widen(dy);
      for (int r = 0; r < rows; r++) {
        const size_t at = size_t(r) * width;
        plain_norm_backward(&dx[at], &dw[0], width, eps, &grad[at], &want[at], &dweight[0]);
      }
      want.insert(want.end(), dweight.begin(), dweight.end());
      const Floats got = on_all(backends, want, "rmsnorm_backward" + where, [&](vf::Ops& ops) {
        Floats out = before, outw = weight_before;
        ops.rmsnorm_backward(
            {rows, width, x.data(), weight.data(), rstd.data(), dy.data(), out.data(), add, outw.data()});
        return joined({&out, &outw});
      });
      if (add) continue;
      const auto loss = [&] {
        Doubles out(x.size());
        for (int r = 0; r < rows; r++) plain_norm(&dx[size_t(r) * width], &dw[0], width, eps, &out[size_t(r) * width]);
        return dot(out, dy);
      };
      check_gradient(dx, got.data(), loss, "dx of rmsnorm");
      Floats slope(width);
      for (int i = 0; i < width; i++) slope[i] = got[x.size() + i] - weight_before[i];
      check_gradient(dw, slope.data(), loss, "dweight of rmsnorm");
    }
  }
  passed("rmsnorm and its gradient equal double loops, a row alone has the same bits");
}

// One problem of qkv, with its inputs in double beside the floats.
struct QkvCase {
  vf::Heads heads;
  bool norm;
  int rows = 150, blocks = 12, width;
  float eps = 1e-6f;
  Floats qkv, q_norm, k_norm, cos, sin, dq, dkeys, dvalues;
  Ints positions, block, slot;
  Doubles x, wq, wk;

  QkvCase(vf::Heads h, bool with_norm)
      : heads(h),
        norm(with_norm),
        width(h.qkv_width()),
        qkv(random_floats(size_t(rows) * width, 10)),
        q_norm(random_floats(h.head_dim, 11)),
        k_norm(random_floats(h.head_dim, 12)),
        cos(size_t(200) * h.head_dim / 2),
        sin(cos.size()),
        dq(random_floats(size_t(rows) * h.q_heads * h.head_dim, 13)),
        dkeys(random_floats(size_t(blocks) * h.value_block_size(), 14)),
        dvalues(random_floats(dkeys.size(), 15)),
        positions(rows),
        block(rows),
        slot(rows),
        x(widen(qkv)),
        wq(widen(q_norm)),
        wk(widen(k_norm)) {
    const int half = h.head_dim / 2;
    for (int p = 0; p < 200; p++) {
      for (int i = 0; i < half; i++) {
        const double angle = p * std::pow(10000.0, -double(i) / half);
        cos[size_t(p) * half + i] = float(std::cos(angle));
        sin[size_t(p) * half + i] = float(std::sin(angle));
      }
    }
    for (int r = 0; r < rows; r++) {
      positions[r] = (r * 7) % 200;
      block[r] = (r / 16 * 5 + 1) % blocks;
      slot[r] = (r * 3) % 16;
    }
  }
  // [rows, q_heads + 2 kv_heads, head_dim]: heads after norm and rotation, values as they are
  Doubles forward() const {
    const int dim = heads.head_dim, half = dim / 2;
    Doubles out = x;
    for (int r = 0; r < rows; r++) {
      for (int h = 0; h < heads.q_heads + heads.kv_heads; h++) {
        double* y = &out[size_t(r) * width + size_t(h) * dim];
        Doubles n(y, y + dim);
        if (norm) plain_norm(y, h < heads.q_heads ? &wq[0] : &wk[0], dim, eps, &n[0]);
        for (int i = 0; i < half; i++) {
          const double c = cos[size_t(positions[r]) * half + i], s = sin[size_t(positions[r]) * half + i];
          y[i] = n[i] * c - n[half + i] * s;
          y[half + i] = n[half + i] * c + n[i] * s;
        }
      }
    }
    return out;
  }
  size_t value_at(int r, int h) const {
    return ((size_t(block[r]) * heads.kv_heads + h) * vf::kv_block + slot[r]) * heads.value_pad();
  }
  double loss() const {
    const Doubles out = forward();
    const int dim = heads.head_dim;
    double sum = 0;
    for (int r = 0; r < rows; r++) {
      const double* y = &out[size_t(r) * width];
      for (int i = 0; i < heads.q_heads * dim; i++) sum += y[i] * dq[size_t(r) * heads.q_heads * dim + i];
      y += heads.q_heads * dim;
      for (int h = 0; h < heads.kv_heads; h++) {
        for (int i = 0; i < dim; i++) {
          sum += y[h * dim + i] * dkeys[value_at(r, h) + i];
          sum += y[(heads.kv_heads + h) * dim + i] * dvalues[value_at(r, h) + i];
        }
      }
    }
    return sum;
  }
};

void test_qkv(std::vector<Backend>& backends) {
  const vf::Heads shapes[] = {{4, 2, 8}, {4, 2, 24}, {8, 4, 32}, {7, 1, 64}, {2, 2, 128}, {2, 1, 2}, {1, 1, 256}};
  for (const vf::Heads& heads : shapes) {
    for (const bool norm : {false, true}) {
      QkvCase c(heads, norm);
      const std::string where = ", head_dim " + std::to_string(heads.head_dim) + (norm ? " with norm" : "");
      const int dim = heads.head_dim, pad = heads.value_pad(), kv = heads.kv_heads, q_width = heads.q_heads * dim;
      const Doubles out = c.forward();
      Doubles q(size_t(c.rows) * q_width), keys(size_t(c.blocks) * heads.key_block_size(), 7.0);
      Doubles values(size_t(c.blocks) * heads.value_block_size(), 7.0);
      for (int r = 0; r < c.rows; r++) {
        const double* y = &out[size_t(r) * c.width];
        for (int i = 0; i < q_width; i++) q[size_t(r) * q_width + i] = y[i];
        for (int h = 0; h < kv; h++) {
          for (int i = 0; i < pad; i++) {
            values[c.value_at(r, h) + i] = i < dim ? y[q_width + (kv + h) * dim + i] : 0;
            if (i < dim) keys[((size_t(c.block[r]) * kv + h) * dim + i) * 16 + c.slot[r]] = y[q_width + h * dim + i];
          }
        }
      }
      Doubles want = q;
      want.insert(want.end(), keys.begin(), keys.end());
      want.insert(want.end(), values.begin(), values.end());
      const auto run = [&](vf::Ops& ops, int step) {
        Floats gq(q.size()), gk(keys.size()), gv(values.size());
        gk.fill(7);
        gv.fill(7);
        for (int r = 0; r < c.rows; r += step) {
          ops.qkv({std::min(step, c.rows - r),
                   heads,
                   c.eps,
                   c.qkv.data() + size_t(r) * c.width,
                   norm ? c.q_norm.data() : nullptr,
                   norm ? c.k_norm.data() : nullptr,
                   c.positions.data() + r,
                   c.cos.data(),
                   c.sin.data(),
                   c.block.data() + r,
                   c.slot.data() + r,
                   gq.data() + size_t(r) * q_width,
                   {gk.data(), gv.data()}});
        }
        return joined({&gq, &gk, &gv});
      };
      const Floats all = on_all(backends, want, "qkv" + where, [&](vf::Ops& ops) { return run(ops, c.rows); });
      check(all.same_bits(run(*backends[0].ops, 1)), "qkv a row at a time" + where);

      const Floats before_q = random_floats(dim, 17), before_k = random_floats(dim, 18);
      const auto back = [&](vf::Ops& ops) {
        Floats dqkv(c.qkv.size()), dqn = before_q, dkn = before_k;
        ops.qkv_backward({c.rows, heads, c.eps, c.qkv.data(), norm ? c.q_norm.data() : nullptr,
                          norm ? c.k_norm.data() : nullptr, c.positions.data(), c.cos.data(), c.sin.data(),
                          c.block.data(), c.slot.data(), c.dq.data(), c.dkeys.data(), c.dvalues.data(), dqkv.data(),
                          norm ? dqn.data() : nullptr, norm ? dkn.data() : nullptr});
        return joined({&dqkv, &dqn, &dkn});
      };
      Floats got = back(*backends[0].ops);
      for (Backend& b : backends) {
        const Floats other = back(*b.ops);
        if (b.fused) check(got.same_bits(other), "qkv_backward: bits of " + b.name + where);
        check_close(nmse(other, widen(got)), 1e-10, "qkv_backward on " + b.name + where);
      }
      check_gradient(
          c.x, got.data(), [&] { return c.loss(); }, "dqkv" + where);
      float* norms = got.data() + c.qkv.size();
      for (int i = 0; i < dim; i++) {
        norms[i] -= before_q[i];
        norms[dim + i] -= before_k[i];
      }
      if (norm)
        check_gradient(
            c.wq, norms, [&] { return c.loss(); }, "dq_norm" + where);
      if (norm)
        check_gradient(
            c.wk, norms + dim, [&] { return c.loss(); }, "dk_norm" + where);
      for (int i = 0; i < 2 * dim && !norm; i++) check(norms[i] == 0, "no gradient where there is no norm");
    }
  }
  passed("qkv and its gradient equal double loops, a row at a time has the same bits");
}

void test_swiglu(std::vector<Backend>& backends) {
  for (const int width : {1, 24, 256, 1000}) {
    const int rows = 67;
    Floats x = random_floats(size_t(rows) * 2 * width, 20, 2);
    const Floats dy = random_floats(size_t(rows) * width, 21);
    x[0] = -120;  // e^-g overflows f32
    if (width > 1) x[1] = 120;
    Doubles in = widen(x);
    const auto forward = [&] {
      Doubles y(dy.size());
      for (int r = 0; r < rows; r++) {
        for (int i = 0; i < width; i++) {
          const double g = in[size_t(r) * 2 * width + i];
          y[size_t(r) * width + i] = g / (1 + std::exp(-g)) * in[size_t(r) * 2 * width + width + i];
        }
      }
      return y;
    };
    const std::string where = ", width " + std::to_string(width);
    on_all(backends, forward(), "swiglu" + where, [&](vf::Ops& ops) {
      Floats y(dy.size());
      ops.swiglu({rows, width, x.data(), y.data()});
      return joined({&y});
    });
    Doubles want(x.size());
    for (int r = 0; r < rows; r++) {
      for (int i = 0; i < width; i++) {
        const size_t at = size_t(r) * 2 * width + i;
        const double g = in[at], s = 1 / (1 + std::exp(-g)), d = dy[size_t(r) * width + i];
        want[at] = d * in[at + width] * s * (1 + g * (1 - s));
        want[at + width] = d * g * s;
      }
    }
    const Floats got = on_all(backends, want, "swiglu_backward" + where, [&](vf::Ops& ops) {
      Floats dx(x.size());
      ops.swiglu_backward({rows, width, x.data(), dy.data(), dx.data()});
      return joined({&dx});
    });
    for (size_t i = 0; i < got.size(); i++) check(std::isfinite(got[i]), "swiglu_backward stays finite");
    check_gradient(
        in, got.data(), [&] { return dot(forward(), dy); }, "swiglu");
  }
  passed("swiglu and its gradient equal double loops");
}

// Nothing to do is done without touching anything.
void test_no_rows(std::vector<Backend>& backends) {
  Floats x(16);
  Ints none(1);
  for (Backend& b : backends) {
    b.ops->embed({0, 16, none.data(), x.data(), x.data()});
    b.ops->embed_backward({0, 16, none.data(), x.data(), x.data()});
    b.ops->rmsnorm({0, 16, 1e-6f, x.data(), x.data(), x.data(), nullptr});
    b.ops->rmsnorm_backward({0, 16, x.data(), x.data(), x.data(), x.data(), x.data(), false, x.data()});
    b.ops->swiglu({0, 8, x.data(), x.data()});
    b.ops->scatter_rows({0, 16, x.data(), none.data(), x.data()});
    check(x.intact() && std::isnan(x[0]), "no row leaves memory as it was");
  }
  passed("ops of no rows do nothing");
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_rows(backends);
  test_rmsnorm(backends);
  test_qkv(backends);
  test_swiglu(backends);
  test_no_rows(backends);
  return 0;
}
