// The contract of a backend: memory, and one args struct and one method an op. native/model is written once
// against it; cpu/ and cuda/ implement it with the same names. All float pointers are f32 device memory and all
// matrices are dense and row-major unless a comment says otherwise; [a, b] is a shape.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace vf {

// Keys a block of the KV store holds. Every pass (prefill, decode, training) uses the same store.
constexpr int kv_block = 16;
// log-sum-exp is taken over vocabulary chunks of this fixed size, in the sampler and in training alike.
constexpr int vocab_chunk = 2048;

// Geometry of attention heads. q_heads is a multiple of kv_heads (grouped-query attention).
struct Heads {
  int q_heads, kv_heads, head_dim;
  int value_pad() const { return (head_dim + 15) / 16 * 16; }
  int qkv_width() const { return (q_heads + 2 * kv_heads) * head_dim; }
  // elements in one block of keys [kv_heads, head_dim, kv_block] (transposed: lanes run over keys)
  int64_t key_block_size() const { return static_cast<int64_t>(kv_heads) * head_dim * kv_block; }
  // elements in one block of values [kv_heads, kv_block, value_pad] (the pad is zero)
  int64_t value_block_size() const { return static_cast<int64_t>(kv_heads) * kv_block * value_pad(); }
};

// One layer's key and value blocks: block b starts at element b * block size. Elements are f32 or bf16, as
// Ops::kv_element_bytes says; keys and values are 16-byte aligned.
struct KvStore {
  void* keys;
  void* values;
};

// Which blocks a query sees. A view is a list of (block, count) pairs, in order of position; only the first
// `count` slots of a block belong to it. A branch of a packed tree (a trace under a shared prompt, an answer under
// a trace) has its parent's pairs first and then its own, so a prefix is stored and computed once.
struct KvViews {
  const int32_t* offsets;  // [views + 1] into blocks and counts
  const int32_t* blocks;
  const int32_t* counts;  // 1..kv_block
  int32_t views;
};

// Consecutive rows at consecutive positions of one view: row `row_begin + i` sees the first `keys_begin + i` keys.
struct AttentionRun {
  int32_t view, row_begin, row_count, keys_begin;
};

struct AttentionRuns {
  const AttentionRun* runs;
  int32_t count;
  // [families + 1] into runs: runs of one family may share blocks, runs of different families never do
  const int32_t* family_offsets;
  int32_t families;
};

// y[r] = table[ids[r]]
struct EmbedArgs {
  int64_t rows, hidden;
  const int32_t* ids;  // [rows]
  const float* table;  // [vocab, hidden]
  float* y;            // [rows, hidden]
};
// dtable[ids[r]] += dy[r], in the order of r
struct EmbedBackwardArgs {
  int64_t rows, hidden;
  const int32_t* ids;
  const float* dy;
  float* dtable;
};

// y = x / sqrt(mean(x^2) + eps) * weight, a row at a time; rstd (may be null) keeps 1/sqrt(...)
struct RmsNormArgs {
  int64_t rows, width;
  float eps;
  const float* x;
  const float* weight;  // [width]
  float* y;
  float* rstd;  // [rows] or null
};
// dx (+)= d/dx, dweight += d/dweight (partial sums over fixed blocks of 64 rows, added in order)
struct RmsNormBackwardArgs {
  int64_t rows, width;
  const float* x;
  const float* weight;
  const float* rstd;  // [rows]
  const float* dy;
  float* dx;
  bool accumulate_dx;
  float* dweight;
};

// y (+)= x w^T (+ bias).  x [rows, in], w [out, in], y [rows, out]
struct MatmulArgs {
  int64_t rows, out, in;
  const float* x;
  const float* w;
  const float* bias;  // [out] or null
  float* y;
  bool accumulate;
};
// dx (+)= dy w.  dy [rows, out], w [out, in], dx [rows, in]
struct MatmulInputGradArgs {
  int64_t rows, out, in;
  const float* dy;
  const float* w;
  float* dx;
  bool accumulate;
};
// dw += dy^T x, dbias += column sums of dy.  dw [out, in], dbias [out] or null
struct MatmulWeightGradArgs {
  int64_t rows, out, in;
  const float* dy;
  const float* x;
  float* dw;
  float* dbias;
};

// From the fused projection qkv [rows, (q_heads + 2 kv_heads) head_dim] (q heads, then k heads, then v heads):
// optional RMSNorm of every q and k head (Qwen3), rotation by position (halves, as Hugging Face's rotate_half),
// q to its own buffer, k and v into slot kv_slot of block kv_block_id of the store.
struct QkvArgs {
  int64_t rows;
  Heads heads;
  float eps;
  const float* qkv;
  const float* q_norm;       // [head_dim] or null
  const float* k_norm;       // [head_dim] or null
  const int32_t* positions;  // [rows]
  const float* cos;          // [max_position, head_dim / 2]
  const float* sin;
  const int32_t* kv_block_id;  // [rows]
  const int32_t* kv_slot;      // [rows] 0..kv_block-1
  float* q;                    // [rows, q_heads, head_dim]
  KvStore store;
};
// From dq [rows, q_heads, head_dim] and the key and value gradients (both blocks [kv_heads, kv_block, value_pad]):
// dqkv (written, not added), dq_norm and dk_norm (added; partial sums over fixed blocks of 64 rows).
struct QkvBackwardArgs {
  int64_t rows;
  Heads heads;
  float eps;
  const float* qkv;  // the forward input
  const float* q_norm;
  const float* k_norm;
  const int32_t* positions;
  const float* cos;
  const float* sin;
  const int32_t* kv_block_id;
  const int32_t* kv_slot;
  const float* dq;
  const float* dkeys;
  const float* dvalues;
  float* dqkv;
  float* dq_norm;
  float* dk_norm;
};

// out[r, h] = sum_j softmax_j(q[r, h] . k[j] * scale) v[j] over the keys that the row's run sees.
// Row r's bits depend on its q and on the keys and values in order of position, and on nothing else: the score is
// one FMA chain over head_dim, the maximum is exact, the sum of exponentials runs in 16 lanes (key j in lane
// j % 16) added by a fixed tree, the output is one FMA chain over j.
struct AttentionArgs {
  Heads heads;
  float scale;
  const float* q;  // [rows, q_heads, head_dim]
  KvStore store;
  KvViews views;
  AttentionRuns runs;
  float* out;  // [rows, q_heads, head_dim]
  float* lse;  // [rows, q_heads]: log-sum-exp of the scaled scores, or null
};
// dq (written), dkeys and dvalues (added; zeroed by the caller). Keys shared by several runs get their gradient in
// the order of the runs.
struct AttentionBackwardArgs {
  Heads heads;
  float scale;
  const float* q;
  KvStore store;
  KvViews views;
  AttentionRuns runs;
  const float* out;
  const float* lse;
  const float* dout;  // [rows, q_heads, head_dim]
  float* dq;          // [rows, q_heads, head_dim]
  float* dkeys;       // blocks [kv_heads, kv_block, value_pad]
  float* dvalues;     // blocks [kv_heads, kv_block, value_pad]
};

// y = silu(gate) * up, with gate_up [rows, 2 width]: gate first
struct SwigluArgs {
  int64_t rows, width;
  const float* gate_up;
  float* y;  // [rows, width]
};
// dgate_up is written
struct SwigluBackwardArgs {
  int64_t rows, width;
  const float* gate_up;
  const float* dy;
  float* dgate_up;
};

// y[i] = x[index[i]]
struct GatherRowsArgs {
  int64_t rows, width;  // rows of y
  const float* x;
  const int32_t* index;
  float* y;
};
// dx[index[i]] += dy[i], in the order of i
struct ScatterRowsArgs {
  int64_t rows, width;  // rows of dy
  const float* dy;
  const int32_t* index;
  float* dx;
};

// Log-probability of a target under the LM head, without the logits of more than a chunk of rows ever existing:
//   logprob[i] = x[i] . head[target] / T - logsumexp_v(x[i] . head[v] / T),  never above 0
// entropy[i] = -sum_v p_v log p_v. logsumexp: per vocab_chunk the maximum and the sum of exp (16 lanes, fixed tree),
// chunks combined in order in double.
struct LogprobArgs {
  int64_t rows, hidden, vocab;  // vocab: rows of the head that belong to a token
  const float* x;               // [rows, hidden]
  const float* head;            // [vocab, hidden]
  const int32_t* targets;       // [rows]
  float inv_temperature;
  float* logprob;  // [rows]
  float* entropy;  // [rows] or null
};

// What a pass over span tokens found; sums in double, in the order of rows.
struct TokenStats {
  double weighted_logprob = 0;  // sum weight * logprob
  double surrogate = 0;         // sum of the clipped objective
  double kl = 0;                // sum kl_weight * k3
  double kl_unweighted = 0;     // sum k3 over rows with a reference
  double mismatch_sum = 0;      // sum |logprob - old_logprob| over rows with an old log-prob
  double mismatch_max = 0;
  double ratio_max = 1, ratio_min = 1;
  double clipped = 0;  // rows whose gradient the clip removed
  int64_t rows = 0;
  int64_t first_nonfinite = -1;  // row of the first log-prob or coefficient that is not finite
};

// The clipped policy objective of every span token and its gradient (PPO, Schulman et al. 2017, eq. 7; dual clip,
// Ye et al. 2020; k3 penalty, Schulman 2020), fused with the LM head:
//   r = exp(logprob - old), or 1 by definition when old is null or on_policy
//   s = min(r w, clip(r, 1 - clip_low, 1 + clip_high) w), and s = max(s, dual_clip w) where w < 0 and dual_clip > 0
//   k3 = exp(ref - logprob) - (ref - logprob) - 1
//   loss = sum_i -s_i + kl_weight_i k3_i;   exponents are bounded to +-20, a NaN stays a NaN
// dx is written, dhead is added (rows in chunks of fixed size, in order).
struct LogprobLossArgs {
  int64_t rows, hidden, vocab;
  const float* x;
  const float* head;
  const int32_t* targets;
  float inv_temperature;
  const float* weight;        // [rows]: advantage or answer weight, divisors included
  const float* old_logprob;   // [rows] or null
  bool on_policy;             // r = 1 by definition; old_logprob is then only measured
  const float* ref_logprob;   // [rows] or null
  const float* kl_weight;     // [rows] or null
  float clip_low, clip_high;  // < 0: no clip
  float dual_clip;            // <= 0: none
  float tis_cap;              // > 0: the weight is multiplied by min(exp(logprob - old), cap), detached, on policy
  float* logprob;             // [rows], written
  float* dx;                  // [rows, hidden]
  float* dhead;               // [vocab, hidden]
  TokenStats* stats;          // host memory, added to
};

enum class RewardKind : int32_t { probability = 0, mean_probability = 1, log_probability = 2, given = 3 };
enum class AdvantageKind : int32_t { rloo = 0, mean = 1, none = 2, standardized = 3, given = 4 };
enum class AnswerWeight : int32_t { exact = 0, one = 1, advantage = 2, none = 3 };

// From answer log-probs (or rewards, or advantages) to the weight of every span token, over whole groups, before any
// split into micro-batches. A trace has 0..n continuations (one a reference); log R sums in double and is
// exponentiated last.
//   probability       R = (sum_c exp(sum_t lp))^k            exact answer weight: d R / d lp = k R^(k-1) p_c
//   mean_probability  R = (mean_t exp(lp_t))^k (best continuation)    exact: k R^(k-1) p_t / n
//   log_probability   R = logsumexp_c(sum_t lp)               exact: p_c / sum p
// A trace without continuation has log R = -inf, R = 0; under log_probability its R is the group's lowest finite
// log R, and a group that has none is skipped. Given rewards that are NaN are missing: outside the baseline, weight 0;
// their exact answer weight is the reward itself (nothing where only advantages are given).
//   rloo   A_i = R_i - (sum_{j != i} R_j) / (G - 1)           (VeriFree eq. 7)
//   mean   A_i = R_i - mean(R)
//   none   A_i = R_i
//   standardized  A_i = (R_i - mean) / (std_{n-1} + 1e-6)     (GRPO)
// Bit-equal rewards give exactly 0.
struct PolicyWeightsArgs {
  int32_t traces, groups;
  const int32_t* group_offsets;         // [groups + 1] into traces
  const int32_t* continuation_offsets;  // [traces + 1] into continuations
  const int32_t* answer_offsets;        // [continuations + 1] into answer_logprob
  const float* answer_logprob;          // as `sample` returned them
  const float* given;                   // [traces]: rewards or advantages from outside, or null
  RewardKind reward;
  AdvantageKind advantage;
  AnswerWeight answer_weight;
  double exponent;             // k
  double scale;                // multiplies every weight: 1 / (traces of the step * length divisor)
  float* log_reward;           // [traces]
  float* reward_value;         // [traces]
  float* advantage_value;      // [traces]
  float* trace_weight;         // [traces]: weight of every reasoning token
  float* answer_token_weight;  // [answer tokens]
  int32_t* skipped;            // [groups] 1 where a group gives no signal by rule
};

// First decoupled weight decay, then Adam (Loshchilov & Hutter 2019): all arrays are [count].
struct AdamWArgs {
  int64_t count;
  float* weight;
  const float* grad;
  float* m;
  float* v;
  float lr, beta1, beta2, eps, weight_decay;
  float bias1, bias2;  // 1 - beta^step
  float grad_scale;    // the clip factor
};

// One token a row from logits [rows, vocab]. temperature 0: the largest logit (lowest id on ties), log-prob at T = 1.
// Otherwise inverse-CDF sampling with uniform[i] from softmax(logits / T), cut to top_k (0 = off) and top_p (1 = off);
// the returned log-prob is that of the uncut softmax at T. A token of probability 0 is never chosen.
struct SampleArgs {
  int64_t rows, vocab;
  const float* logits;
  const double* uniform;  // [rows], host memory
  float temperature, top_p;
  int32_t top_k;
  int32_t* ids;    // [rows], host memory
  float* logprob;  // [rows], host memory
};

// A decode pass: `rows` runs of one row each.
struct DecodePass {
  int64_t rows;
  Heads heads;
  KvViews views;
  AttentionRuns runs;
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual const char* name() const = 0;
  // Which matrix products are in use, in words: stored with a run.
  virtual const char* products() const = 0;

  // Memory. allocate returns 64-byte aligned memory, not zeroed; throws VF_OUT_OF_MEMORY with the bytes asked for.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* device, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* memory, size_t bytes) = 0;
  virtual void synchronize() = 0;

  // Bytes of an element of the KV store: 4 (f32) or 2 (bf16, rounded to nearest even as `qkv` writes it).
  virtual int kv_element_bytes() const = 0;

  // Weights changed: every prepared copy of them (packed panels, low-precision copies) is stale.
  virtual void weights_changed() = 0;

  virtual void embed(const EmbedArgs&) = 0;
  virtual void embed_backward(const EmbedBackwardArgs&) = 0;
  virtual void rmsnorm(const RmsNormArgs&) = 0;
  virtual void rmsnorm_backward(const RmsNormBackwardArgs&) = 0;
  virtual void matmul(const MatmulArgs&) = 0;
  virtual void matmul_input_grad(const MatmulInputGradArgs&) = 0;
  virtual void matmul_weight_grad(const MatmulWeightGradArgs&) = 0;
  virtual void qkv(const QkvArgs&) = 0;
  virtual void qkv_backward(const QkvBackwardArgs&) = 0;
  virtual void attention(const AttentionArgs&) = 0;
  virtual void attention_backward(const AttentionBackwardArgs&) = 0;
  virtual void swiglu(const SwigluArgs&) = 0;
  virtual void swiglu_backward(const SwigluBackwardArgs&) = 0;
  virtual void gather_rows(const GatherRowsArgs&) = 0;
  virtual void scatter_rows(const ScatterRowsArgs&) = 0;
  virtual void logprob(const LogprobArgs&) = 0;
  virtual void logprob_loss(const LogprobLossArgs&) = 0;
  virtual void policy_weights(const PolicyWeightsArgs&) = 0;
  virtual void adamw(const AdamWArgs&) = 0;
  // sum of squares in double, over fixed blocks added in order
  virtual double squared_norm(const float* x, int64_t count) = 0;
  virtual void sample(const SampleArgs&) = 0;

  // How many rows a decode pass of `rows` had better have: a backend that replays recorded passes wants few sizes.
  virtual int64_t decode_rows(int64_t rows) const { return rows; }
  // Does `work`: the ops of a decode pass, on buffers that stay where they are from pass to pass, without upload or
  // download. A backend may record them and replay the recording for a pass of the same size. `work` may not run then.
  virtual void decode_pass(const DecodePass&, const std::function<void()>& work) { work(); }
};

}  // namespace vf
