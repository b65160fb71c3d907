#pragma once
// Which keys a query sees and how a score is made. Kernels use it: no LibTorch, no
// library templates.

#include <cstdint>

#include "titan/ops/sequence_rows.h"

namespace titan::ops {

struct AttentionRule {
  double scale = 0;     // score = scale * q k^T; > 0
  bool causal = true;   // a query sees no later position of its sequence
  int64_t window = 0;   // of the last positions, its own included; 0: all. Causal only
  double soft_cap = 0;  // score = cap * tanh(score / cap); 0: none

  // Of the positions `keys`, those that a query at `position` sees. Both ends ascend with
  // the position and stay within `keys`.
  [[nodiscard]] PositionRange visible(int64_t position, PositionRange keys) const {
    const auto within = [](int64_t p, PositionRange range) {
      return p < range.begin ? range.begin : p > range.end ? range.end : p;
    };
    const int64_t end = causal ? within(position + 1, keys) : keys.end;
    const int64_t begin =
        window > 0 ? within(position + 1 - window, {keys.begin, end}) : keys.begin;
    return {begin, end};
  }
};

}  // namespace titan::ops
