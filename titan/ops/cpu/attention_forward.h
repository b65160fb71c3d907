#pragma once
// Attention forward, one task at a time. The caller cuts the step into tasks and runs
// them in any order on any thread; which tasks a row shares does not change its bits.

#include <cstddef>
#include <cstdint>

#include "titan/ops/cpu/attention_args.h"
#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

struct AttentionForward {
  AttentionTensors tensors;
  AttentionRule rule;
  const float* sinks;  // [heads], or null
  void* out;           // [T, heads, Dv], contiguous, of the inputs' type
  float* log_sum_exp;  // [T, heads], natural
};

// Key tiles of `keys` positions start at the sequence's position 0: the grouping of the
// online softmax, hence part of the numerics. Query tiles are cut at multiples of
// `queries`.
struct AttentionTiling {
  int64_t queries, keys;
};

// The keys of one sequence and key-value head at the positions [range.begin, range.end):
// those that the queries of the step see.
struct AttentionKeys {
  KeyRows rows;
  PositionRange range;
  int64_t kv_head;
  // The key tiles from that of range.begin on, one after another; null: a task packs its
  // own.
  const void* packed;
};

// `rows` query rows from `query_row` on, at positions [position, position + rows) of the
// sequence, for the query heads [head, head + heads) of the key-value head.
// REQUIRES: rows * heads <= tiling.queries.
struct AttentionTask {
  int64_t query_row, rows, position;
  int64_t head, heads;
};

// Tasks of at most this many rows * heads read keys as they stand in the tensor; they
// gain nothing from packed ones.
inline constexpr int64_t kFewQueries = 16;

#define TITAN_ATTENTION_FORWARD(level)                                                  \
  namespace level {                                                                     \
  AttentionTiling attention_tiling(bool bf16);                                          \
  /* Bytes of one packed key tile, a multiple of 64. */                                 \
  size_t attention_tile_bytes(const AttentionForward& args);                            \
  /* Packs the tile of the positions from tile * tiling.keys on. */                     \
  void attention_pack_tile(                                                             \
      const AttentionForward& args, const AttentionKeys& keys, int64_t tile, void* to); \
  /* REQUIRES: the calling thread owns a BrgemmScope. */                                \
  void attention_forward(                                                               \
      const AttentionForward& args,                                                     \
      const AttentionKeys& keys,                                                        \
      const AttentionTask& task);                                                       \
  }
TITAN_ATTENTION_FORWARD(avx2)
TITAN_ATTENTION_FORWARD(avx512)
TITAN_ATTENTION_FORWARD(avx512_bf16)
#undef TITAN_ATTENTION_FORWARD

// At the level of this process.
inline AttentionTiling attention_tiling(bool bf16) {
  return TITAN_ISA_SELECT(attention_tiling)(bf16);
}

inline size_t attention_tile_bytes(const AttentionForward& args) {
  return TITAN_ISA_SELECT(attention_tile_bytes)(args);
}

inline void attention_pack_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t tile, void* to) {
  TITAN_ISA_SELECT(attention_pack_tile)(args, keys, tile, to);
}

inline void attention_forward(
    const AttentionForward& args, const AttentionKeys& keys, const AttentionTask& task) {
  TITAN_ISA_SELECT(attention_forward)(args, keys, task);
}

}  // namespace titan::ops::cpu
