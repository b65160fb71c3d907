#pragma once
// How the flat run of tokens [T] of one step belongs together. Only the attention core
// looks at it. Packed (training, scoring): every document of the pack attends to itself.
// Cached (generation): each sequence's new tokens attend to its KV cache as well.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// One sequence's share of a step. Query rows [query_begin, query_begin + query_length) of
// the step stand at positions [position, position + query_length) of the sequence; its
// keys are rows [key_begin, key_begin + position + query_length) of the key and value
// tensors.
struct SequenceSpan {
  int64_t query_begin = 0;
  int64_t query_length = 0;
  int64_t position = 0;
  int64_t key_begin = 0;
};

// The spans of a step in ascending, gap-free order of query_begin.
struct SequenceContext {
  std::vector<SequenceSpan> spans;

  [[nodiscard]] int64_t num_tokens() const {
    return spans.empty() ? 0 : spans.back().query_begin + spans.back().query_length;
  }

  // Positions of all tokens within their sequences, int64 [T].
  [[nodiscard]] Tensor positions() const;

  // Documents of the given lengths, packed one after another from position 0.
  [[nodiscard]] static SequenceContext packed(const std::vector<int64_t>& lengths);
};

}  // namespace titan::ops
