#include "titan/checkpoint/region.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "titan/base/error.h"

namespace titan::checkpoint {

int64_t volume(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(elements, dim, &elements)) {
      fail<FormatError>("shape [{}] is too large to address", fmt::join(shape, ", "));
    }
  }
  return elements;
}

bool lies_within(const Box& box, const std::vector<int64_t>& shape) {
  if (box.offset.size() != shape.size() || box.shape.size() != shape.size()) {
    return false;
  }
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (box.offset[dim] < 0 || box.shape[dim] < 0 || box.offset[dim] > shape[dim] ||
        box.shape[dim] > shape[dim] - box.offset[dim]) {
      return false;
    }
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box both;
  for (size_t dim = 0; dim < a.offset.size(); ++dim) {
    const int64_t begin = std::max(a.offset[dim], b.offset[dim]);
    const int64_t end =
        std::min(a.offset[dim] + a.shape[dim], b.offset[dim] + b.shape[dim]);
    if (begin >= end) {
      return std::nullopt;
    }
    both.offset.push_back(begin);
    both.shape.push_back(end - begin);
  }
  return both;
}

}  // namespace titan::checkpoint
