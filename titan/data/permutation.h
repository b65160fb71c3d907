#pragma once
// A seeded order of n things that needs no memory.

#include <cstdint>

namespace titan::data {

// A bijection of [0, n), different for each (seed, epoch): a Feistel network (Luby and
// Rackoff 1988) over the next even number of bits with Philox as its round function;
// values outside the range go through again until they fall inside (Black and Rogaway
// 2002). Immutable and thread-safe.
class Permutation {
 public:
  // REQUIRES: n > 0.
  Permutation(uint64_t n, uint64_t seed, uint64_t epoch);

  // REQUIRES: i < n.
  [[nodiscard]] uint64_t operator()(uint64_t i) const;

 private:
  [[nodiscard]] uint64_t encipher(uint64_t value) const;

  uint64_t n_;
  uint64_t seed_;
  uint64_t epoch_;
  int half_bits_ = 1;
};

}  // namespace titan::data
