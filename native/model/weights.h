// Parameters in one arena, their gradients and moments in arenas of the same layout, so that the optimizer and the
// global norm are one pass each. q, k and v (and gate and up) stand side by side and multiply as one matrix.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "../core/buffer.h"
#include "spec.h"

namespace vf {

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset, count;  // in floats, from the arena's start
};

// Pointers of one layer in one arena (weights or gradients). Null where the family has no such tensor.
struct LayerWeights {
  float *attention_norm, *qkv, *qkv_bias, *q_norm, *k_norm, *attention_out, *mlp_norm, *gate_up, *down;
};
struct ModelWeights {
  float* embedding;
  std::vector<LayerWeights> layers;
  float* final_norm;
  float* head;  // the embedding when tied
};

enum class Dtype { f32, f16, bf16 };
enum class Arena { weight, grad, m, v };

struct TensorFile {
  std::string name, file;
  Arena arena;
  int64_t offset;
  Dtype dtype;
  std::vector<int64_t> shape;
};
struct TensorOut {
  std::string name;
  Arena arena;
  Dtype dtype;  // f32 or bf16
};

class Weights {
 public:
  // Allocates the arenas; the moments and gradients only when `trainable`.
  Weights(Ops& ops, const Spec& spec, bool trainable);

  // Reads every tensor; throws VF_MODEL_FILE with the file's name when one can't be read whole, is missing or
  // misshaped.
  void read(const std::vector<TensorFile>& tensors);
  // Writes the header (with its length) and the tensors in order, then syncs the file to disk.
  void write(const std::string& file, const std::vector<uint8_t>& header, const std::vector<TensorOut>& tensors);
  std::vector<float> tensor(Arena arena, const std::string& name);

  const Spec& spec() const { return spec_; }
  int64_t parameters() const { return parameters_; }
  int64_t arena_count() const { return count_; }
  bool trainable() const { return trainable_; }
  float* arena(Arena which);
  const ModelWeights& weights() const { return weights_; }
  const ModelWeights& grads() const { return grads_; }
  Ops& ops() { return ops_; }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, bool joined = false);
  ModelWeights pointers(float* base) const;
  const Parameter& find(const std::string& name) const;

  Ops& ops_;
  Spec spec_;
  bool trainable_;
  std::vector<Parameter> list_;
  std::unordered_map<std::string, size_t> index_;
  int64_t count_ = 0, parameters_ = 0;
  Buffer weight_, grad_, m_, v_;
  ModelWeights weights_, grads_;
};

}  // namespace vf
