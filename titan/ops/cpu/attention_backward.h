#pragma once
// Attention backward, one task at a time. The scores are recomputed tile by tile,
// transposed (keys down, queries across): the row statistics are then plain vectors, and
// P^T and dS^T are operands as they come.
//
// A task owns a run of key tiles of one key-value head and forms their dK and dV alone.
// dQ is the sum over all key tiles in ascending order: where several tasks add to one
// query tile, each waits for its turn. So the cut into tasks does not change a bit.

#include <cstddef>
#include <cstdint>

#include "titan/ops/cpu/attention_args.h"
#include "titan/ops/cpu/attention_turn.h"
#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// Widths and types as in AttentionTensors; contiguous.
struct AttentionBackward {
  AttentionTensors tensors;
  AttentionRule rule;
  const void* out;           // [T, heads, Dv]
  const void* grad_out;      // [T, heads, Dv]
  const float* log_sum_exp;  // [T, heads], natural
  float* delta;              // [T, heads]: out * grad_out summed over Dv
  void* grad_query;          // [T, heads, D]
  void* grad_key;            // [S, kv_heads, D]
  void* grad_value;          // [S, kv_heads, Dv]
};

// Lengths of score tiles. Key tiles start at multiples of `keys` positions of the
// sequence.
struct AttentionBackwardTiling {
  int64_t queries, keys;
};

// At most tiling.queries query rows on consecutive positions, and the key tiles
// [key_tile_begin, key_tile_end) that hold the keys they see (of `keys`).
struct AttentionQueryTile {
  int64_t row, rows, position;
  PositionRange keys;
  int64_t key_tile_begin, key_tile_end;
};

// All query tiles that share the keys at the positions `keys` of one key-value head;
// position p stands in row key_row + p - keys.begin.
struct AttentionBackwardUnit {
  const AttentionQueryTile* tiles;
  int64_t num_tiles;
  PositionRange keys;
  int64_t key_row;
  int64_t kv_head;
  // Where several tasks share the unit: sums of dQ^T, one after another for each query
  // head of the group and tile, and whose turn it is: key tiles are its terms. Else null.
  float* grad_query;
  AttentionTurn* turns;
};

struct AttentionBackwardTask {
  const AttentionBackwardUnit* unit;
  int64_t key_tile_begin, key_tile_end;
};

#define TITAN_ATTENTION_BACKWARD(level)                                                 \
  namespace level {                                                                     \
  AttentionBackwardTiling attention_backward_tiling();                                  \
  /* Bytes that a task of so many key tiles works in, a multiple of 64. */              \
  size_t attention_backward_bytes(const AttentionBackward& args, int64_t key_tiles);    \
  /* Floats of the dQ^T of one query tile and head. */                                  \
  int64_t attention_grad_query_size(const AttentionBackward& args);                     \
  /* Writes delta of the query rows [begin, end). */                                    \
  void attention_delta(const AttentionBackward& args, int64_t begin, int64_t end);      \
  /* Tasks of a unit must be started in ascending order.                                \
     REQUIRES: the calling thread owns a BrgemmScope. */                                \
  void attention_backward(                                                              \
      const AttentionBackward& args, const AttentionBackwardTask& task, void* storage); \
  }
TITAN_ATTENTION_BACKWARD(avx2)
TITAN_ATTENTION_BACKWARD(avx512)
TITAN_ATTENTION_BACKWARD(avx512_bf16)
#undef TITAN_ATTENTION_BACKWARD

// At the level of this process.
inline AttentionBackwardTiling attention_backward_tiling() {
  return TITAN_ISA_SELECT(attention_backward_tiling)();
}

inline size_t attention_backward_bytes(const AttentionBackward& args, int64_t key_tiles) {
  return TITAN_ISA_SELECT(attention_backward_bytes)(args, key_tiles);
}

inline int64_t attention_grad_query_size(const AttentionBackward& args) {
  return TITAN_ISA_SELECT(attention_grad_query_size)(args);
}

inline void attention_delta(const AttentionBackward& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(attention_delta)(args, begin, end);
}

inline void attention_backward(
    const AttentionBackward& args, const AttentionBackwardTask& task, void* storage) {
  TITAN_ISA_SELECT(attention_backward)(args, task, storage);
}

}  // namespace titan::ops::cpu
