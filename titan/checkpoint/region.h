#pragma once
// Boxes of a tensor's index space.

#include <cstdint>
#include <optional>
#include <vector>

namespace titan::checkpoint {

// The indices offset[d] .. offset[d] + shape[d] - 1 of each dim d.
struct Box {
  std::vector<int64_t> offset;
  std::vector<int64_t> shape;
};

// The number of elements; 1 for no dims. Throws FormatError where that overflows.
[[nodiscard]] int64_t volume(const std::vector<int64_t>& shape);

// Whether the box has as many dims as `shape` and no index outside it.
[[nodiscard]] bool lies_within(const Box& box, const std::vector<int64_t>& shape);

// What both contain; nullopt where that is nothing. REQUIRES: as many dims.
[[nodiscard]] std::optional<Box> intersection(const Box& a, const Box& b);

}  // namespace titan::checkpoint
