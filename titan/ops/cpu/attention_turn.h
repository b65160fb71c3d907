#pragma once

#include <atomic>
#include <cstdint>

namespace titan::ops::cpu {

// How many terms have been added to a sum whose terms come from several threads in one
// fixed order. Thread-safe.
class AttentionTurn {
 public:
  // Returns when exactly `added` terms have been added, and the sum can be read.
  void await(int32_t added) const;

  // Tells that the sum now has `added` terms.
  void advance(int32_t added);

 private:
  std::atomic<int32_t> added_ = 0;
};

}  // namespace titan::ops::cpu
