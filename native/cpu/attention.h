// The table of the attention kernels, and what one call of them is given; the kernels are in attention.inc.
#pragma once
#include "../ops/ops.h"

namespace vf {

// Rows times heads of one forward call, and of one backward call: the sizes of their buffers, no matter of bits.
constexpr int attention_tile = 12;
constexpr int attention_chunk = 192;

// Consecutive rows of one run and the query heads of one kv head: query m is row m / group, head m % group of them.
struct AttentionPart {
  int head_dim, value_pad, group;
  float scale;
  const float* keys;  // of this head in block 0
  const float* values;
  int64_t key_block, value_block;  // floats from one block to the next
  const int32_t* blocks;           // of the run's view
  const int32_t* counts;
  int rows;
  int first_keys;       // keys that the first row sees; row i sees i more
  const float* q;       // of the first row and head
  int64_t row_width;    // floats from row to row of q, out and their gradients
  int64_t heads_width;  // floats from row to row of lse
};

struct AttentionForward {
  AttentionPart part;
  float* out;
  float* lse;           // or null
  float* queries;       // scratch [rows * group, head_dim]
  float* scores;        // scratch [rows * group, score_width], score_width >= keys of the last row + 15
  int64_t score_width;  // a multiple of 16
  float* sums;          // scratch [rows * group, value_pad]
};

struct AttentionBackward {
  AttentionPart part;
  const float *out, *dout, *lse;
  float* dq;
  float *dkeys, *dvalues;  // of this head in block 0, value_block from block to block
  // scratch, n = rows * group
  float *q_rows, *dout_rows, *dq_rows;  // [n, value_pad]
  float *weights, *slopes;              // [n, kv_block]
  float *means, *log_sums;              // [n]
  float* key_rows;                      // [kv_block, value_pad]
  float* value_columns;                 // [head_dim, kv_block]
};

struct AttentionKernels {
  void (*forward)(const AttentionForward&);
  void (*backward)(const AttentionBackward&);
};

}  // namespace vf
