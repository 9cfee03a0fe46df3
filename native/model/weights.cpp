// The parameter arena (weights.h).
#include "weights.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "../core/error.h"
#include "../core/half.h"

namespace vf {
namespace {

std::string layer_name(int32_t layer, const char* rest) { return "model.layers." + std::to_string(layer) + "." + rest; }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

struct File {
  int fd;
  std::string path;
  File(const std::string& name, int flags) : fd(::open(name.c_str(), flags, 0644)), path(name) {
    require(fd >= 0, "VF_MODEL_FILE", "Expected to open " + name + " but received: " + std::strerror(errno));
  }
  ~File() { ::close(fd); }
  void read_at(void* to, size_t bytes, int64_t offset) const {
    for (size_t done = 0; done < bytes;) {
      const ssize_t n = ::pread(fd, static_cast<char*>(to) + done, bytes - done, offset + static_cast<int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      require(n > 0, "VF_MODEL_FILE",
              "Expected " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + " of " + path +
                  " but the file ends early (interrupted copy?)");
      done += static_cast<size_t>(n);
    }
  }
  void write_all(const void* from, size_t bytes) const {
    for (size_t done = 0; done < bytes;) {
      const ssize_t n = ::write(fd, static_cast<const char*>(from) + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      require(n > 0, errno == ENOSPC ? "VF_DISK_FULL" : "VF_MODEL_FILE",
              "Expected to write " + std::to_string(bytes) + " bytes to " + path +
                  " but received: " + std::strerror(errno));
      done += static_cast<size_t>(n);
    }
  }
};

constexpr int64_t chunk = 1 << 20;  // elements converted at a time

}  // namespace

Weights::Weights(Ops& ops, const Spec& spec, bool trainable)
    : ops_(ops), spec_(spec), trainable_(trainable), weight_(ops), grad_(ops), m_(ops), v_(ops) {
  const int64_t hidden = spec.hidden, q = spec.query_width(), kv = static_cast<int64_t>(spec.kv_heads) * spec.head_dim;
  add("model.embed_tokens.weight", {spec.vocab, hidden});
  for (int32_t l = 0; l < spec.layers; l++) {
    add(layer_name(l, "input_layernorm.weight"), {hidden});
    add(layer_name(l, "self_attn.q_proj.weight"), {q, hidden});
    add(layer_name(l, "self_attn.k_proj.weight"), {kv, hidden}, true);
    add(layer_name(l, "self_attn.v_proj.weight"), {kv, hidden}, true);
    if (spec.qkv_bias) {
      add(layer_name(l, "self_attn.q_proj.bias"), {q});
      add(layer_name(l, "self_attn.k_proj.bias"), {kv}, true);
      add(layer_name(l, "self_attn.v_proj.bias"), {kv}, true);
    }
    if (spec.qk_norm) {
      add(layer_name(l, "self_attn.q_norm.weight"), {spec.head_dim});
      add(layer_name(l, "self_attn.k_norm.weight"), {spec.head_dim});
    }
    add(layer_name(l, "self_attn.o_proj.weight"), {hidden, q});
    add(layer_name(l, "post_attention_layernorm.weight"), {hidden});
    add(layer_name(l, "mlp.gate_proj.weight"), {spec.ffn, hidden});
    add(layer_name(l, "mlp.up_proj.weight"), {spec.ffn, hidden}, true);
    add(layer_name(l, "mlp.down_proj.weight"), {hidden, spec.ffn});
  }
  add("model.norm.weight", {hidden});
  if (!spec.tied) add("lm_head.weight", {spec.vocab, hidden});
  const size_t bytes = static_cast<size_t>(count_) * sizeof(float);
  ops_.zero(weight_.floats(count_), bytes);
  weights_ = pointers(arena(Arena::weight));
  if (!trainable) return;
  for (Buffer* buffer : {&grad_, &m_, &v_}) ops_.zero(buffer->floats(count_), bytes);
  grads_ = pointers(arena(Arena::grad));
}

void Weights::add(const std::string& name, std::vector<int64_t> shape, bool joined) {
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  if (!joined) count_ = (count_ + 15) / 16 * 16;
  index_[name] = list_.size();
  list_.push_back(Parameter{name, std::move(shape), count_, count});
  count_ += count;
  parameters_ += count;
}

ModelWeights Weights::pointers(float* base) const {
  const auto at = [&](const std::string& name) -> float* {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : base + list_[found->second].offset;
  };
  ModelWeights w;
  w.embedding = at("model.embed_tokens.weight");
  for (int32_t l = 0; l < spec_.layers; l++)
    w.layers.push_back(
        LayerWeights{at(layer_name(l, "input_layernorm.weight")), at(layer_name(l, "self_attn.q_proj.weight")),
                     at(layer_name(l, "self_attn.q_proj.bias")), at(layer_name(l, "self_attn.q_norm.weight")),
                     at(layer_name(l, "self_attn.k_norm.weight")), at(layer_name(l, "self_attn.o_proj.weight")),
                     at(layer_name(l, "post_attention_layernorm.weight")), at(layer_name(l, "mlp.gate_proj.weight")),
                     at(layer_name(l, "mlp.down_proj.weight"))});
  w.final_norm = at("model.norm.weight");
  w.head = spec_.tied ? w.embedding : at("lm_head.weight");
  return w;
}

const Parameter& Weights::find(const std::string& name) const {
  const auto found = index_.find(name);
  require(found != index_.end(), "VF_MODEL_FILE", "Expected a tensor of this model but received " + name);
  return list_[found->second];
}

float* Weights::arena(Arena which) {
  require(which == Arena::weight || trainable_, "VF_INVALID_STATE",
          "Expected a trainable policy but it was loaded for inference only");
  switch (which) {
    case Arena::weight:
      return weight_.floats(count_);
    case Arena::grad:
      return grad_.floats(count_);
    case Arena::m:
      return m_.floats(count_);
    default:
      return v_.floats(count_);
  }
}

void Weights::read(const std::vector<TensorFile>& tensors) {
  std::unordered_map<std::string, bool> seen;
  std::unique_ptr<File> file;
  std::vector<uint8_t> raw(static_cast<size_t>(chunk) * 4);
  std::vector<float> values(static_cast<size_t>(chunk));
  for (const TensorFile& t : tensors) {
    const Parameter& p = find(t.name);
    require(t.shape == p.shape, "VF_MODEL_FILE",
            "Expected shape " + shape_text(p.shape) + " for " + t.name + " but received " + shape_text(t.shape));
    if (!file || file->path != t.file) file = std::make_unique<File>(t.file, O_RDONLY);
    const int64_t width = t.dtype == Dtype::f32 ? 4 : 2;
    for (int64_t done = 0; done < p.count; done += chunk) {
      const int64_t n = std::min(chunk, p.count - done);
      file->read_at(raw.data(), static_cast<size_t>(n * width), t.offset + done * width);
      if (t.dtype == Dtype::f32)
        std::memcpy(values.data(), raw.data(), static_cast<size_t>(n) * 4);
      else
        to_floats(reinterpret_cast<const uint16_t*>(raw.data()), n, t.dtype == Dtype::f16, values.data());
      ops_.upload(arena(t.arena) + p.offset + done, values.data(), static_cast<size_t>(n) * 4);
    }
    if (t.arena == Arena::weight) seen[t.name] = true;
  }
  for (const Parameter& p : list_)
    require(seen[p.name], "VF_MODEL_FILE", "Expected a tensor named " + p.name + " but the model files have none");
  ops_.weights_changed();
}

void Weights::write(const std::string& path, const std::vector<uint8_t>& header,
                    const std::vector<TensorOut>& tensors) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  const uint64_t length = header.size();
  file.write_all(&length, sizeof length);
  file.write_all(header.data(), header.size());
  std::vector<float> values(static_cast<size_t>(chunk));
  std::vector<uint16_t> halves(static_cast<size_t>(chunk));
  for (const TensorOut& t : tensors) {
    const Parameter& p = find(t.name);
    for (int64_t done = 0; done < p.count; done += chunk) {
      const int64_t n = std::min(chunk, p.count - done);
      ops_.download(values.data(), arena(t.arena) + p.offset + done, static_cast<size_t>(n) * 4);
      if (t.dtype == Dtype::f32) {
        file.write_all(values.data(), static_cast<size_t>(n) * 4);
      } else {
        to_bf16(values.data(), n, halves.data());
        file.write_all(halves.data(), static_cast<size_t>(n) * 2);
      }
    }
  }
  require(::fsync(file.fd) == 0, "VF_MODEL_FILE",
          "Expected to sync " + path + " but received: " + std::strerror(errno));
}

std::vector<float> Weights::tensor(Arena which, const std::string& name) {
  const Parameter& p = find(name);
  std::vector<float> values(static_cast<size_t>(p.count));
  ops_.download(values.data(), arena(which) + p.offset, values.size() * sizeof(float));
  return values;
}

}  // namespace vf
