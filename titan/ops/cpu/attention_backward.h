#pragma once
// Attention backward over packed documents, one task at a time. The scores are recomputed
// tile by tile, transposed (keys down, queries across): the row statistics are then plain
// vectors, and P^T and dS^T are operands as they come.

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// The tensors of one call, contiguous. Widths and types as in AttentionForward, with T
// rows of keys and values.
struct AttentionBackward {
  const void* query;
  const void* key;
  const void* value;
  const void* out;
  const void* grad_out;
  const float* log_sum_exp;  // [heads, T], to base 2
  void* grad_query;
  void* grad_key;
  void* grad_value;
  // fp32 [heads, T, key_dim] and [heads, T, value_dim], or null: the key and value
  // gradients that single query heads give, where the heads of one key-value head are
  // separate tasks.
  float* head_grad_key;
  float* head_grad_value;
  int64_t num_tokens;  // T
  int64_t heads, kv_heads;
  int64_t key_dim, value_dim;
  float scale;
  bool bf16;
};

// One document, rows [row, row + length), and the query heads [head, head + heads) of one
// key-value head: all of them, or one where head_grad_key is given. Each head's gradients
// of K and V are formed whole (query tiles ascending) and then added head by head, in
// both cases.
struct AttentionBackwardTask {
  int64_t row, length;
  int64_t head, heads;
};

#define TITAN_ATTENTION_BACKWARD(level)                                                \
  namespace level {                                                                    \
  /* REQUIRES: the calling thread owns a BrgemmScope. */                               \
  void attention_backward(                                                             \
      const AttentionBackward& args, const AttentionBackwardTask& task);               \
  /* Adds up head_grad_key and head_grad_value of the tokens [begin, end). */          \
  void attention_add_heads(const AttentionBackward& args, int64_t begin, int64_t end); \
  }
TITAN_ATTENTION_BACKWARD(avx2)
TITAN_ATTENTION_BACKWARD(avx512)
TITAN_ATTENTION_BACKWARD(avx512_bf16)
#undef TITAN_ATTENTION_BACKWARD

// At the level of this process.
inline void attention_backward(
    const AttentionBackward& args, const AttentionBackwardTask& task) {
  TITAN_ISA_SELECT(attention_backward)(args, task);
}

inline void attention_add_heads(
    const AttentionBackward& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(attention_add_heads)(args, begin, end);
}

}  // namespace titan::ops::cpu
