#pragma once

#include <cstddef>

namespace titan::text {

// A half-open range of bytes.
struct Range {
  size_t begin = 0;
  size_t end = 0;

  [[nodiscard]] size_t size() const { return end - begin; }
};

}  // namespace titan::text
