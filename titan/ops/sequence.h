#pragma once
// How the flat run of tokens [T] of one step belongs together. Only the attention core
// looks at it. Packed (training, scoring): every document of the pack attends to itself.
// Cached (generation): each sequence's new tokens attend to its KV cache as well, which
// is one run of rows or a list of blocks.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/ops/sequence_rows.h"

namespace titan::ops {

using at::Tensor;

// One sequence's share of a step. Query rows [query_begin, query_begin + query_length) of
// the step stand at positions [position, position + query_length) of the sequence.
struct SequenceSpan {
  static constexpr int64_t kToLastQuery = -1;

  int64_t query_begin = 0;
  int64_t query_length = 0;
  int64_t position = 0;

  // There are keys for the positions [key_position, key_end()): rows from key_begin on of
  // the key and value tensors. Other ranges than those of a whole sequence serve a
  // context that is split over ranks.
  int64_t key_begin = 0;
  int64_t key_position = 0;
  int64_t key_length = kToLastQuery;

  // Instead of key_begin: position p stands in row blocks[p / S] * S + p % S, where S is
  // the context's block_size. The index wraps around at the end of the table, so a layer
  // that sees a window keeps its last positions in a ring of blocks.
  std::vector<int32_t> blocks = {};

  [[nodiscard]] int64_t key_end() const {
    return key_length == kToLastQuery ? position + query_length
                                      : key_position + key_length;
  }
};

// The spans of a step in ascending, gap-free order of query_begin.
struct SequenceContext {
  std::vector<SequenceSpan> spans;
  int64_t block_size = 0;  // rows of a block; of the spans that have blocks

  [[nodiscard]] int64_t num_tokens() const {
    return spans.empty() ? 0 : spans.back().query_begin + spans.back().query_length;
  }

  // Positions of all tokens within their sequences, int64 [T].
  [[nodiscard]] Tensor positions() const;

  // REQUIRES: the span outlives the result.
  [[nodiscard]] KeyRows key_rows(const SequenceSpan& span) const {
    return {
        span.key_begin,
        span.key_position,
        span.blocks.data(),
        static_cast<int64_t>(span.blocks.size()),
        block_size};
  }

  // Documents of the given lengths, packed one after another from position 0.
  [[nodiscard]] static SequenceContext packed(const std::vector<int64_t>& lengths);
};

}  // namespace titan::ops
