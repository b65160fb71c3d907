#pragma once
// The gated delta rule of one head (see ops/delta_rule.h for the formula), chunk by
// chunk. A chunk is 64 positions counted from the sequence's position 0, a block 16 of
// them. Within a chunk the state of its start and what the rows before have written give
// every row's result, and a row is computed by the same operations whether its chunk
// comes whole, in parts or row by row.

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

inline constexpr int64_t kDeltaChunk = 64;
inline constexpr int64_t kDeltaBlock = 16;

// Widths of a head, padded to whole vectors.
struct DeltaWidths {
  DeltaWidths(int64_t key_width, int64_t value_width)
      : key((key_width + 15) / 16 * 16), value((value_width + 15) / 16 * 16) {}

  int64_t key;
  int64_t value;
};

// What a head remembers of a sequence; all fp32. Of `keys` the columns of the finished
// blocks count, of `deltas` the rows of the chunk so far, of the block's rows those of
// the running block.
struct DeltaMemory {
  // Floats from one row of `keys` to the next: off the powers of two.
  static constexpr int64_t kKeyStride = kDeltaChunk + 16;

  DeltaMemory(float* memory, const DeltaWidths& w)
      : state(memory),
        keys(state + w.key * w.value),
        deltas(keys + w.key * kKeyStride),
        block_keys(deltas + kDeltaChunk * w.value),
        block_decays(block_keys + kDeltaBlock * w.key),
        decay(block_decays + kDeltaBlock * w.key) {}

  [[nodiscard]] static int64_t size(const DeltaWidths& w) {
    return w.key * (w.value + kKeyStride + 2 * kDeltaBlock + 1) + kDeltaChunk * w.value;
  }

  float* state;         // [key, value], at the chunk's start
  float* keys;          // [key, kKeyStride], each decayed to the running block's start
  float* deltas;        // [chunk, value]
  float* block_keys;    // [block, key]
  float* block_decays;  // [block, key], of each row alone
  float* decay;         // [key], from the chunk's start to the running block's
};

// A [rows, heads, width] tensor with contiguous widths; strides in elements.
struct DeltaInput {
  const void* data;
  int64_t row_stride;
  int64_t head_stride;
};

struct DeltaRule {
  DeltaInput query, key;   // [T, key_heads, key_width]
  DeltaInput value;        // [T, heads, value_width]
  bool bf16;               // query, key and value; else fp32
  const float* log_decay;  // [T, heads, decays]
  const float* beta;       // [T, heads]
  int64_t heads, key_heads;
  int64_t key_width, value_width;
  int64_t decays;  // of a head: 1 or key_width
  float scale;     // of the normalised query
  float norm_eps;
};

// Rows [row, row + rows) at the positions from `position` on.
struct DeltaSpan {
  int64_t row, rows, position;
};

struct DeltaForward {
  DeltaRule rule;
  void* out;  // [T, heads, value_width] contiguous, of the type of `value`
};

// The states of one head, [key_width, value_width] contiguous.
struct DeltaStates {
  const float* begin;  // null: zero
  float* end;          // null: not wanted
};

// Gradients of all rows: contiguous and of the type of their input. Those of queries and
// keys are sums over the heads that share them.
struct DeltaBackward {
  DeltaRule rule;
  DeltaInput d_out;  // of the type of `value`
  void* d_query;
  void* d_key;
  void* d_value;
  float* d_log_decay;
  float* d_beta;
};

// Gradients of the states of all heads of a span, [heads, key_width, value_width].
struct DeltaStateGradients {
  const float* begin;  // the value; null: zero
  const float* d_end;  // null: zero
  float* d_begin;      // null: not wanted
};

#define TITAN_DELTA_RULE(level)                                                      \
  namespace level {                                                                  \
  /* A whole span from a state between chunks. REQUIRES: position a multiple of      \
     kDeltaChunk. */                                                                 \
  void delta_rule_forward(                                                           \
      const DeltaForward& args,                                                      \
      const DeltaSpan& span,                                                         \
      int64_t head,                                                                  \
      const DeltaStates& states);                                                    \
  /* The span continues what is remembered, or starts it at position 0. */           \
  void delta_rule_continue(                                                          \
      const DeltaForward& args, const DeltaSpan& span, int64_t head, float* memory); \
  /* Of all heads that share a key head. REQUIRES: as delta_rule_forward. */         \
  void delta_rule_backward(                                                          \
      const DeltaBackward& args,                                                     \
      const DeltaSpan& span,                                                         \
      int64_t key_head,                                                              \
      const DeltaStateGradients& states);                                            \
  }
TITAN_DELTA_RULE(avx2)
TITAN_DELTA_RULE(avx512)
TITAN_DELTA_RULE(avx512_bf16)
#undef TITAN_DELTA_RULE

// At the level of this process. REQUIRES: the calling thread owns a BrgemmScope.
inline void delta_rule_forward(
    const DeltaForward& args,
    const DeltaSpan& span,
    int64_t head,
    const DeltaStates& states) {
  TITAN_ISA_SELECT(delta_rule_forward)(args, span, head, states);
}

inline void delta_rule_continue(
    const DeltaForward& args, const DeltaSpan& span, int64_t head, float* memory) {
  TITAN_ISA_SELECT(delta_rule_continue)(args, span, head, memory);
}

inline void delta_rule_backward(
    const DeltaBackward& args,
    const DeltaSpan& span,
    int64_t key_head,
    const DeltaStateGradients& states) {
  TITAN_ISA_SELECT(delta_rule_backward)(args, span, key_head, states);
}

}  // namespace titan::ops::cpu
