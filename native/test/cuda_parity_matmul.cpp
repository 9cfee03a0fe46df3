// Parity of the matrix products. The plain bf16 loop rounds both operands and sums in f32, in order.
#include "cuda_parity.h"

namespace vf_test {

namespace {

Floats numbers(size_t count, uint64_t seed) {
  Floats x(count);
  Numbers(seed).fill(x);
  return x;
}

// c[i, j] = start + sum_k a(i, k) b(j, k) with the operands rounded first.
Floats plain_loop(const Floats& a, int64_t a_row, int64_t a_k, const Floats& b, int64_t b_row, int64_t b_k, int64_t m,
                  int64_t n, int64_t k, const Floats& start) {
  const Floats ra = rounded(a), rb = rounded(b);
  Floats c(start);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t d = 0; d < k; d++) sum += ra[i * a_row + d * a_k] * rb[j * b_row + d * b_k];
      c[i * n + j] += sum;
    }
  return c;
}

void products(Parity& p, int64_t rows, int64_t out, int64_t in) {
  const Floats x = numbers(rows * in, 1), w = numbers(out * in, 2), bias = numbers(out, 3), dy = numbers(rows * out, 4);
  const Floats start_y = numbers(rows * out, 5), start_x = numbers(rows * in, 6), start_w = numbers(out * in, 7);
  std::vector<std::vector<Floats>> results;
  for (vf::Ops* ops : {&p.cpu, &p.cuda}) {
    DeviceFloats x_(*ops, x), w_(*ops, w), bias_(*ops, bias), dy_(*ops, dy), y(*ops, Floats(rows * out)),
        more_y(*ops, start_y), dx(*ops, Floats(rows * in)), more_x(*ops, start_x), dw(*ops, start_w), dbias(*ops, bias);
    ops->weights_changed();
    ops->matmul({rows, out, in, x_.data(), w_.data(), bias_.data(), y.data(), false});
    ops->matmul({rows, out, in, x_.data(), w_.data(), nullptr, more_y.data(), true});
    ops->matmul_input_grad({rows, out, in, dy_.data(), w_.data(), dx.data(), false});
    ops->matmul_input_grad({rows, out, in, dy_.data(), w_.data(), more_x.data(), true});
    ops->matmul_weight_grad({rows, out, in, dy_.data(), x_.data(), dw.data(), dbias.data()});
    results.push_back({y.fetch("matmul"), more_y.fetch("matmul"), dx.fetch("matmul_input_grad"),
                       more_x.fetch("matmul_input_grad"), dw.fetch("matmul_weight_grad"),
                       dbias.fetch("matmul_weight_grad")});
  }
  Floats biases(rows * out), zeros(rows * in);
  zeros.fill(0);
  for (int64_t i = 0; i < rows * out; i++) biases[i] = bias[i % out];
  const Floats plain[] = {
      plain_loop(x, in, 1, w, in, 1, rows, out, in, biases), plain_loop(x, in, 1, w, in, 1, rows, out, in, start_y),
      plain_loop(dy, out, 1, w, 1, in, rows, in, out, zeros), plain_loop(dy, out, 1, w, 1, in, rows, in, out, start_x),
      plain_loop(dy, 1, out, x, 1, in, out, in, rows, start_w)};
  const char* names[] = {"matmul",      "matmul +=", "matmul_input_grad", "matmul_input_grad +=", "matmul_weight_grad",
                         "matmul dbias"};
  for (int i = 0; i < 6; i++)
    p.row(names[i], shape_of(rows, out, in), nmse(results[1][i], results[0][i]),
          i < 5 ? nmse(plain[i], results[0][i]) : -1);
}

}  // namespace

void parity_matmul(Parity& p) {
  products(p, 1, 1, 1);
  products(p, 3, 17, 29);
  if (p.small && p.bf16) {
    products(p, 17, 18, 33);     // tiles of 64
    products(p, 129, 130, 129);  // the shim's multiprocessors get tiles of 128
  }
  if (p.small) return;
  products(p, 1, 24, 40);
  products(p, 16, 130, 64);
  products(p, 17, 64, 33);
  products(p, 65, 70, 100);
  products(p, 260, 264, 40);  // several large tiles
  products(p, 40, 33, 1030);  // several blocks share the depth
  products(p, 1030, 9, 24);
  // enough large tiles for every multiprocessor of a GPU: too slow for the shim
  if (std::getenv("VF_PARITY_LARGE")) products(p, 1664, 1700, 96);
}

}  // namespace vf_test
