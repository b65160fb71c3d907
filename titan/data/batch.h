#pragma once
// One packed micro-batch.

#include <cstdint>
#include <vector>

namespace titan::data {

// A label that takes no part in the loss.
inline constexpr int64_t kNoLabel = -100;

// A flat run of tokens [T] made of documents (or pieces of them) one after another, each
// with positions from 0; attention never crosses their borders.
struct Batch {
  std::vector<int64_t> tokens;            // [T]
  std::vector<int64_t> labels;            // [T], the next token of the same document
  std::vector<int64_t> document_lengths;  // each > 0, sum == T

  bool operator==(const Batch&) const = default;
};

}  // namespace titan::data
