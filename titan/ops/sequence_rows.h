#pragma once
// Where the keys of one sequence stand. Kernels use it: no LibTorch, no library
// templates.

#include <cstdint>

namespace titan::ops {

// Positions [begin, end) of a sequence.
struct PositionRange {
  int64_t begin;
  int64_t end;
};

// Rows [row, row + length) of the key and value tensors.
struct KeyRun {
  int64_t row;
  int64_t length;
};

// Without blocks, position p stands in row `begin` + p - `position`. With blocks it
// stands in row blocks[p / block_size] * block_size + p % block_size; a table that is
// shorter than the sequence is a ring: the index into it wraps around.
struct KeyRows {
  int64_t begin = 0;
  int64_t position = 0;
  const int32_t* blocks = nullptr;
  int64_t num_blocks = 0;
  int64_t block_size = 0;

  // The rows of the positions [range.begin, ...) up to the first gap or range.end.
  // REQUIRES: a non-empty range.
  [[nodiscard]] KeyRun run(PositionRange range) const {
    const int64_t length = range.end - range.begin;
    if (num_blocks == 0) {
      return {begin + range.begin - position, length};
    }
    const int64_t within = range.begin % block_size;
    const int64_t left = block_size - within;
    return {
        blocks[range.begin / block_size % num_blocks] * block_size + within,
        left < length ? left : length};
  }
};

}  // namespace titan::ops
