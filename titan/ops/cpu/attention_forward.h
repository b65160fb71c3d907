#pragma once
// Attention forward, one task at a time. The caller cuts the step into tasks and runs
// them in any order on any thread; which tasks a row shares does not change its bits.

#include <cstddef>
#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// The tensors of one call, contiguous: query [T, heads, key_dim], key [S, kv_heads,
// key_dim], value [S, kv_heads, value_dim], out [T, heads, value_dim], all fp32 or all
// bf16.
struct AttentionForward {
  const void* query;
  const void* key;
  const void* value;
  void* out;
  float* log_sum_exp;  // [heads, T], to base 2
  int64_t num_tokens;  // T
  int64_t heads, kv_heads;
  int64_t key_dim, value_dim;
  float scale;
  bool bf16;
};

// Key tiles of `keys` keys start at the sequence's position 0: the grouping of the online
// softmax, hence part of the numerics. Query tiles are cut at multiples of `queries`
// (which divides `keys`), so that every row of a query tile sees a key of its last key
// tile.
struct AttentionTiling {
  int64_t queries, keys;
};

// The keys [0, num_keys) of one sequence and key-value head: rows from key_row on of the
// key and value tensors.
struct AttentionKeys {
  int64_t key_row, num_keys;
  int64_t kv_head;
  const void* packed;  // all key tiles one after another, or null: a task packs its own
};

// `rows` query rows from `query_row` on, at positions [position, position + rows) of the
// sequence, for the query heads [head, head + heads) of the key-value head.
// REQUIRES: no multiple of tiling.queries inside the positions; rows * heads <=
// tiling.queries.
struct AttentionTask {
  int64_t query_row, rows, position;
  int64_t head, heads;
};

#define TITAN_ATTENTION_FORWARD(level)                                                  \
  namespace level {                                                                     \
  AttentionTiling attention_tiling(bool bf16);                                          \
  /* Bytes of one packed key tile, a multiple of 64. */                                 \
  size_t attention_tile_bytes(const AttentionForward& args);                            \
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
