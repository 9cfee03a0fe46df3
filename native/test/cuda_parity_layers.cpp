// Parity of the layer ops, AdamW and the norm.
#include "cuda_parity.h"

namespace vf_test {

namespace {

Floats numbers(size_t count, uint64_t seed, float scale = 1) {
  Floats x(count);
  Numbers(seed).fill(x, scale);
  return x;
}
Ints indices(size_t count, int range, uint64_t seed) {
  Ints x(count);
  Numbers n(seed);
  for (size_t i = 0; i < count; i++) x[i] = static_cast<int32_t>(n.next() % range);
  return x;
}

void rows_by_index(Parity& p, int64_t rows, int64_t width, int range) {
  const Ints index = indices(rows, range, 1);
  const Floats table = numbers(range * width, 2), dy = numbers(rows * width, 3);
  const auto run = [&](vf::Ops& ops, int kind) {
    DeviceInts i(ops, index);
    DeviceFloats t(ops, table), d(ops, dy), y(ops, Floats(rows * width));
    if (kind == 0) ops.embed({rows, width, i.data(), t.data(), y.data()});
    if (kind == 1) ops.gather_rows({rows, width, t.data(), i.data(), y.data()});
    if (kind == 2) ops.embed_backward({rows, width, i.data(), d.data(), t.data()});
    if (kind == 3) ops.scatter_rows({rows, width, d.data(), i.data(), t.data()});
    return (kind < 2 ? y : t).fetch("rows by index");
  };
  const char* names[] = {"embed", "gather_rows", "embed_backward", "scatter_rows"};
  for (int kind = 0; kind < 4; kind++)
    p.exact(names[kind], shape_of(rows, width, range), run(p.cuda, kind).same_bits(run(p.cpu, kind)));
}

void norm(Parity& p, int64_t rows, int64_t width) {
  const Floats x = numbers(rows * width, 4), w = numbers(width, 5), dy = numbers(rows * width, 6),
               start = numbers(rows * width, 7);
  std::vector<std::vector<Floats>> results;
  for (vf::Ops* ops : {&p.cpu, &p.cuda}) {
    DeviceFloats dx_(*ops, x), dw(*ops, w), y(*ops, Floats(rows * width)), rstd(*ops, Floats(rows)), g(*ops, dy),
        dx(*ops, Floats(rows * width)), more(*ops, start), dweight(*ops, w);
    ops->rmsnorm({rows, width, 1e-6f, dx_.data(), dw.data(), y.data(), rstd.data()});
    ops->rmsnorm_backward(
        {rows, width, dx_.data(), dw.data(), rstd.data(), g.data(), dx.data(), false, dweight.data()});
    ops->rmsnorm_backward(
        {rows, width, dx_.data(), dw.data(), rstd.data(), g.data(), more.data(), true, dweight.data()});
    results.push_back({y.fetch("rmsnorm"), rstd.fetch("rmsnorm"), dx.fetch("rmsnorm_backward"),
                       more.fetch("rmsnorm_backward"), dweight.fetch("rmsnorm_backward")});
  }
  const char* names[] = {"rmsnorm", "rmsnorm rstd", "rmsnorm_backward", "rmsnorm_backward +=", "rmsnorm dweight"};
  for (int i = 0; i < 5; i++) p.row(names[i], shape_of(rows, width), nmse(results[1][i], results[0][i]));
}

void swiglu(Parity& p, int64_t rows, int64_t width) {
  const Floats gate_up = numbers(rows * 2 * width, 8, 3), dy = numbers(rows * width, 9);
  std::vector<std::vector<Floats>> results;
  for (vf::Ops* ops : {&p.cpu, &p.cuda}) {
    DeviceFloats x(*ops, gate_up), y(*ops, Floats(rows * width)), g(*ops, dy), dx(*ops, Floats(rows * 2 * width));
    ops->swiglu({rows, width, x.data(), y.data()});
    ops->swiglu_backward({rows, width, x.data(), g.data(), dx.data()});
    results.push_back({y.fetch("swiglu"), dx.fetch("swiglu_backward")});
  }
  p.row("swiglu", shape_of(rows, width), nmse(results[1][0], results[0][0]));
  p.row("swiglu_backward", shape_of(rows, width), nmse(results[1][1], results[0][1]));
}

void qkv(Parity& p, int64_t rows, vf::Heads h, bool normed) {
  const int dim = h.head_dim, positions = 50, blocks = static_cast<int>(rows + 15) / 16 + 2;
  const Floats x = numbers(rows * h.qkv_width(), 10), qn = numbers(dim, 11), kn = numbers(dim, 12),
               cos = numbers(positions * dim / 2, 13), sin = numbers(positions * dim / 2, 14),
               dq = numbers(rows * h.q_heads * dim, 15);
  const Ints position = indices(rows, positions, 16);
  Ints block(rows), slot(rows);
  for (int64_t r = 0; r < rows; r++) {
    block[r] = blocks - 1 - static_cast<int32_t>(r / 16);
    slot[r] = static_cast<int32_t>(r % 16);
  }
  const size_t keys = blocks * h.key_block_size(), values = blocks * h.value_block_size();
  const Floats dkeys = numbers(values, 17), dvalues = numbers(values, 18), empty_keys = numbers(keys, 19),
               empty_values = numbers(values, 20);
  std::vector<std::vector<Floats>> results;
  for (vf::Ops* ops : {&p.cpu, &p.cuda}) {
    DeviceFloats x_(*ops, x), qn_(*ops, qn), kn_(*ops, kn), cos_(*ops, cos), sin_(*ops, sin),
        q(*ops, Floats(dq.size())), dq_(*ops, dq), dk(*ops, dkeys), dv(*ops, dvalues), dx(*ops, Floats(x.size())),
        dqn(*ops, qn), dkn(*ops, kn);
    DeviceStore k(*ops, empty_keys), v(*ops, empty_values);
    DeviceInts position_(*ops, position), block_(*ops, block), slot_(*ops, slot);
    float *qw = normed ? qn_.data() : nullptr, *kw = normed ? kn_.data() : nullptr;
    ops->qkv({rows,
              h,
              1e-6f,
              x_.data(),
              qw,
              kw,
              position_.data(),
              cos_.data(),
              sin_.data(),
              block_.data(),
              slot_.data(),
              q.data(),
              {k.data(), v.data()}});
    ops->qkv_backward({rows, h, 1e-6f, x_.data(), qw, kw, position_.data(), cos_.data(), sin_.data(), block_.data(),
                       slot_.data(), dq_.data(), dk.data(), dv.data(), dx.data(), normed ? dqn.data() : nullptr,
                       normed ? dkn.data() : nullptr});
    results.push_back({q.fetch("qkv"), k.fetch("qkv"), v.fetch("qkv"), dx.fetch("qkv_backward"),
                       dqn.fetch("qkv_backward"), dkn.fetch("qkv_backward")});
  }
  const std::string shape = shape_of(rows, h.q_heads, h.kv_heads, dim) + (normed ? " normed" : "");
  const Floats& exact_keys = results[0][1];
  p.row("qkv keys", shape, nmse(results[1][1], exact_keys), nmse(rounded(exact_keys), exact_keys));
  p.exact("qkv values", shape, results[1][2].same_bits(stored(p.cuda, results[0][2])));
  const std::pair<int, const char*> parts[] = {
      {0, "qkv q"}, {3, "qkv_backward"}, {4, "qkv dq_norm"}, {5, "qkv dk_norm"}};
  for (const auto& [i, name] : parts) p.row(name, shape, nmse(results[1][i], results[0][i]));
}

void adamw(Parity& p, int64_t count) {
  const Floats w = numbers(count, 21), g = numbers(count, 22), m = numbers(count, 23, 0.1f);
  Floats v = numbers(count, 24);
  for (size_t i = 0; i < v.size(); i++) v[i] *= v[i];
  std::vector<std::vector<Floats>> results;
  std::vector<double> norms;
  for (vf::Ops* ops : {&p.cpu, &p.cuda}) {
    DeviceFloats w_(*ops, w), g_(*ops, g), m_(*ops, m), v_(*ops, v);
    ops->adamw(
        {count, w_.data(), g_.data(), m_.data(), v_.data(), 0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.271f, 0.142f, 0.5f});
    norms.push_back(ops->squared_norm(g_.data(), count));
    results.push_back({w_.fetch("adamw"), m_.fetch("adamw"), v_.fetch("adamw")});
  }
  const char* names[] = {"adamw weight", "adamw m", "adamw v"};
  for (int i = 0; i < 3; i++) p.row(names[i], shape_of(count), nmse(results[1][i], results[0][i]));
  p.row("squared_norm", shape_of(count), std::fabs(norms[1] - norms[0]) / (norms[0] + 1e-30));
}

}  // namespace

void parity_layers(Parity& p) {
  rows_by_index(p, 1, 1, 1);
  rows_by_index(p, 9, 33, 4);
  if (!p.small) rows_by_index(p, 300, 70, 11);
  norm(p, 1, 3);
  norm(p, 3, 40);
  if (!p.small) norm(p, 130, 300);
  swiglu(p, 1, 1);
  swiglu(p, 7, 130);
  qkv(p, 1, {1, 1, 2}, true);
  qkv(p, 5, {4, 2, 16}, true);
  if (!p.small) {
    qkv(p, 70, {7, 1, 24}, true);
    qkv(p, 33, {4, 4, 64}, false);
    qkv(p, 20, {8, 2, 256}, true);
  }
  adamw(p, 1);
  adamw(p, 1027);
  if (!p.small) adamw(p, 70001);
}

}  // namespace vf_test
