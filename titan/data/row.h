#pragma once
// A row while it is being packed.

#include <cstdint>

#include "titan/data/example.h"
#include "titan/data/pack.h"

namespace titan::data {

// Without a batch it only keeps count. Not thread-safe.
class Row {
 public:
  // REQUIRES: `options` and `batch`, which is emptied, outlive this.
  Row(const PackOptions& options, Batch* batch);

  // Tokens that still fit.
  [[nodiscard]] int64_t room() const { return options_.tokens - length_; }

  [[nodiscard]] bool empty() const { return length_ == 0; }

  // Appends inputs begin .. begin + length - 1 of the example as one piece.
  // FormatError: an id that is not in the vocabulary. REQUIRES: length <= room().
  void append(const Example& example, int64_t begin, int64_t length);

  // Fills the rest; returns how many tokens that were.
  int64_t fill_up();

 private:
  const PackOptions& options_;
  Batch* batch_;
  int64_t length_ = 0;
};

}  // namespace titan::data
