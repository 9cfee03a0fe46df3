// Matrix products against plain double loops, and their invariances: rows, threads, instruction sets, weight updates.
#include "guarded.h"

#if defined(__SANITIZE_ADDRESS__)
// A test asks for more memory than there is; the sanitizer is to refuse it as malloc does.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

using namespace vf_test;

namespace {

struct Shape {
  int64_t rows, out, in;
};

double constant(const char* name) {
  for (const auto& item : vf::cpu_constants())
    if (item.first == name) return item.second;
  check(false, std::string("no constant ") + name);
  return 0;
}

// a[m, k] b[n, k]^T + old in double
std::vector<double> product(const Floats& a, const Floats& b, const Floats* old, const Floats* bias, int64_t m,
                            int64_t n, int64_t k) {
  std::vector<double> y(m * n);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = (old ? (*old)[i * n + j] : 0.0) + (bias ? (*bias)[j] : 0.0);
      for (int64_t t = 0; t < k; t++) sum += static_cast<double>(a[i * k + t]) * b[j * k + t];
      y[i * n + j] = sum;
    }
  return y;
}

Floats transposed(const Floats& x, int64_t rows, int64_t columns) {
  Floats y(x.size());
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
  return y;
}

const Shape shapes[] = {{1, 1, 1},     {1, 33, 5},    {2, 31, 513},   {3, 100, 64},   {5, 16, 1025},  {13, 129, 31},
                        {14, 32, 512}, {15, 97, 600}, {17, 1040, 70}, {64, 48, 1100}, {229, 65, 130}, {300, 1100, 40}};

void test_forward(std::vector<Backend>& backends) {
  for (const Shape& s : shapes) {
    Numbers numbers(s.rows * 1000 + s.out);
    Floats x(s.rows * s.in), w(s.out * s.in), bias(s.out), old(s.rows * s.out);
    numbers.fill(x);
    numbers.fill(w);
    numbers.fill(bias);
    numbers.fill(old);
    const std::vector<double> plain = product(x, w, nullptr, nullptr, s.rows, s.out, s.in);
    const std::vector<double> added = product(x, w, &old, &bias, s.rows, s.out, s.in);
    Floats first(s.rows * s.out), first_added(old);
    for (Backend& b : backends) {
      b.ops->weights_changed();
      Floats y(s.rows * s.out), z(old);
      b.ops->matmul({s.rows, s.out, s.in, x.data(), w.data(), nullptr, y.data(), false});
      b.ops->matmul({s.rows, s.out, s.in, x.data(), w.data(), bias.data(), z.data(), true});
      check_close(nmse(y, plain), 1e-10, b.name + " matmul");
      check_close(nmse(z, added), 1e-10, b.name + " matmul with bias, added");
      check(y.intact() && z.intact(), b.name + " matmul writes outside its output");
      if (&b == &backends[0]) {
        std::memcpy(first.data(), y.data(), y.size() * 4);
        std::memcpy(first_added.data(), z.data(), z.size() * 4);
      } else if (b.fused) {
        check(first.same_bits(y) && first_added.same_bits(z),
              b.name + " matmul has other bits than " + backends[0].name);
      }
    }
  }
  passed("matmul equals the double loop and has the same bits for threads 1 and 2, AVX2 and AVX-512");
}

void test_gradients(std::vector<Backend>& backends) {
  for (const Shape& s : shapes) {
    Numbers numbers(s.rows * 7 + s.in);
    Floats x(s.rows * s.in), w(s.out * s.in), dy(s.rows * s.out), old_dx(s.rows * s.in), old_dw(s.out * s.in),
        old_db(s.out);
    for (Floats* f : {&x, &w, &dy, &old_dx, &old_dw, &old_db}) numbers.fill(*f);
    Floats ones(s.rows);
    ones.fill(1);
    const std::vector<double> dx = product(dy, transposed(w, s.out, s.in), nullptr, nullptr, s.rows, s.in, s.out);
    const std::vector<double> dx_added = product(dy, transposed(w, s.out, s.in), &old_dx, nullptr, s.rows, s.in, s.out);
    const Floats dyt = transposed(dy, s.rows, s.out);
    const std::vector<double> dw = product(dyt, transposed(x, s.rows, s.in), &old_dw, nullptr, s.out, s.in, s.rows);
    const std::vector<double> db = product(dyt, ones, &old_db, nullptr, s.out, 1, s.rows);
    Floats bits_dx(old_dx), bits_dw(old_dw), bits_db(old_db);
    for (Backend& b : backends) {
      Floats a(s.rows * s.in), c(old_dx), d(old_dw), e(old_db);
      b.ops->matmul_input_grad({s.rows, s.out, s.in, dy.data(), w.data(), a.data(), false});
      b.ops->matmul_input_grad({s.rows, s.out, s.in, dy.data(), w.data(), c.data(), true});
      b.ops->matmul_weight_grad({s.rows, s.out, s.in, dy.data(), x.data(), d.data(), e.data()});
      check_close(nmse(a, dx), 1e-10, b.name + " input gradient");
      check_close(nmse(c, dx_added), 1e-10, b.name + " input gradient, added");
      check_close(nmse(d, dw), 1e-10, b.name + " weight gradient");
      check_close(nmse(e, db), 1e-10, b.name + " bias gradient");
      check(a.intact() && c.intact() && d.intact() && e.intact(), b.name + " a gradient writes outside its output");
      if (&b == &backends[0]) {
        std::memcpy(bits_dx.data(), c.data(), c.size() * 4);
        std::memcpy(bits_dw.data(), d.data(), d.size() * 4);
        std::memcpy(bits_db.data(), e.data(), e.size() * 4);
      } else if (b.fused) {
        check(bits_dx.same_bits(c) && bits_dw.same_bits(d) && bits_db.same_bits(e),
              b.name + " gradients have other bits");
      }
    }
  }
  passed("matmul gradients equal the double loop and have the same bits for threads 1 and 2, AVX2 and AVX-512");
}

// Row r of a product of 512 rows has the bits of the same row alone, or in any company, wherever x lies.
void test_rows(std::vector<Backend>& backends) {
  const int64_t k_block = static_cast<int64_t>(constant("gemm_k_block"));
  const int64_t in = 2 * k_block + 37, out = 200, most = 512;
  check(in > k_block && most > constant("gemm_row_block_avx512"), "the shapes no longer cross the kernel's borders");
  Numbers numbers(11);
  Floats x(most * in), w(out * in), bias(out);
  numbers.fill(x);
  numbers.fill(w);
  numbers.fill(bias);
  for (Backend& b : backends) {
    Floats whole(most * out);
    b.ops->matmul({most, out, in, x.data(), w.data(), bias.data(), whole.data(), false});
    std::vector<int64_t> counts = {64, 100, 233};
    const int64_t mr = static_cast<int64_t>(constant("gemm_rows_avx512"));
    for (int64_t m = 1; m <= mr + 3; m++) counts.push_back(m);
    for (const int64_t m : counts)
      for (const int64_t begin : {int64_t{0}, int64_t{5}, most - m}) {
        Floats moved(m * in + 1), y(m * out);
        std::memcpy(moved.data() + 1, x.data() + begin * in, m * in * 4);
        b.ops->matmul({m, out, in, moved.data() + 1, w.data(), bias.data(), y.data(), false});
        check(std::memcmp(y.data(), whole.data() + begin * out, m * out * 4) == 0,
              b.name + ": a row's bits change with " + std::to_string(m) + " rows");
      }
  }
  passed("a row of a product has the same bits among 1 to MR + 3, 64, 100, 233 and 512 rows, at any address");
}

void test_updates(std::vector<Backend>& backends) {
  Numbers numbers(3);
  for (Backend& b : backends) {
    vf::Ops& ops = *b.ops;
    float* w = static_cast<float*>(ops.allocate(40 * 30 * 4));
    Floats x(3 * 30), y(3 * 40), host(40 * 30);
    numbers.fill(x);
    for (int round = 0; round < 3; round++) {
      numbers.fill(host);
      ops.upload(w, host.data(), 40 * 30 * 4);
      ops.weights_changed();
      ops.matmul({3, 40, 30, x.data(), w, nullptr, y.data(), false});
      check_close(nmse(y, product(x, host, nullptr, nullptr, 3, 40, 30)), 1e-10, "stale packed weights");
    }
    // the same memory in another shape, then given back and perhaps given out again
    ops.matmul({2, 30, 40, x.data(), w, nullptr, y.data(), false});
    Floats part(2 * 30);
    std::memcpy(part.data(), y.data(), 60 * 4);
    check_close(nmse(part, product(x, host, nullptr, nullptr, 2, 30, 40)), 1e-10, "packed weights of another shape");
    ops.release(w);
    w = static_cast<float*>(ops.allocate(40 * 30 * 4));
    numbers.fill(host);
    ops.upload(w, host.data(), 40 * 30 * 4);
    ops.matmul({3, 40, 30, x.data(), w, nullptr, y.data(), false});
    check_close(nmse(y, product(x, host, nullptr, nullptr, 3, 40, 30)), 1e-10, "packed weights of released memory");
    ops.release(w);
  }
  passed("packed weights follow weights_changed, another shape and released memory");
}

float bf16(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
  std::memcpy(&x, &u, 4);
  return x;
}

void test_bf16() {
  if (!vf::cpu_has_bf16()) {
    std::printf("bf16 products: skipped, no AVX512-BF16\n");
    return;
  }
  vf::CpuOptions options;
  options.bf16 = true;
  options.threads = 2;
  const auto two = vf::make_cpu_backend(options);
  options.threads = 1;
  const auto one = vf::make_cpu_backend(options);
  for (const Shape& s : shapes) {
    Numbers numbers(s.rows + s.in);
    Floats x(s.rows * s.in), w(s.out * s.in), bias(s.out), y(s.rows * s.out), z(s.rows * s.out), dy(s.rows * s.out);
    for (Floats* f : {&x, &w, &bias, &dy}) numbers.fill(*f);
    Floats xr(x), wr(w);
    for (size_t i = 0; i < x.size(); i++) xr[i] = bf16(x[i]);
    for (size_t i = 0; i < w.size(); i++) wr[i] = bf16(w[i]);
    two->weights_changed();
    one->weights_changed();
    two->matmul({s.rows, s.out, s.in, x.data(), w.data(), bias.data(), y.data(), false});
    one->matmul({s.rows, s.out, s.in, x.data(), w.data(), bias.data(), z.data(), false});
    check_close(nmse(y, product(xr, wr, nullptr, &bias, s.rows, s.out, s.in)), 1e-10,
                "bf16 matmul of rounded operands");
    check(y.intact() && y.same_bits(z), "bf16 matmul has the same bits for threads 1 and 2");
    for (int64_t r = 0; r < s.rows; r += 7) {
      Floats alone(s.out);
      one->matmul({1, s.out, s.in, x.data() + r * s.in, w.data(), bias.data(), alone.data(), false});
      check(std::memcmp(alone.data(), y.data() + r * s.out, s.out * 4) == 0, "a bf16 row has the same bits alone");
    }
    Floats dx(s.rows * s.in), dw(s.out * s.in);
    dw.fill(0);
    two->matmul_input_grad({s.rows, s.out, s.in, dy.data(), w.data(), dx.data(), false});
    two->matmul_weight_grad({s.rows, s.out, s.in, dy.data(), x.data(), dw.data(), nullptr});
    check_close(nmse(dx, product(dy, transposed(wr, s.out, s.in), nullptr, nullptr, s.rows, s.in, s.out)), 1e-10,
                "bf16 input gradient");
    check_close(nmse(dw, product(transposed(dy, s.rows, s.out), transposed(xr, s.rows, s.in), nullptr, nullptr, s.out,
                                 s.in, s.rows)),
                1e-10, "bf16 weight gradient");
  }
  passed("bf16 products equal the double loop over rounded operands and are row and thread invariant");
}

void test_refusals() {
  const auto refused = [](const vf::CpuOptions& options) {
    try {
      vf::make_cpu_backend(options);
    } catch (const std::exception& e) {
      return std::string(e.what()).find("Expected") == 0;
    }
    return false;
  };
  vf::CpuOptions options;
  options.isa = "mmx";
  check(refused(options), "an unknown instruction set is refused");
  options.isa = "base";
  options.bf16 = true;
  check(refused(options), "bf16 with the base kernels is refused");
  const auto ops = vf::make_cpu_backend({});
  bool thrown = false;
  try {
    ops->allocate(size_t{1} << 60);
  } catch (const std::exception& e) {
    thrown = std::string(e.what()).find("1152921504606846976 bytes") != std::string::npos;
  }
  check(thrown, "a failed allocation names its bytes");
  void* nothing = ops->allocate(0);
  check(nothing != nullptr && reinterpret_cast<uintptr_t>(nothing) % 64 == 0, "an empty block is aligned memory");
  ops->release(nothing);
  ops->release(nullptr);
  passed("the backend refuses what the machine lacks and names the bytes of a failed allocation");
}

}  // namespace

int main() {
  std::vector<Backend> backends = make_backends();
  test_forward(backends);
  test_gradients(backends);
  test_rows(backends);
  test_updates(backends);
  test_bf16();
  test_refusals();
  return 0;
}
