#pragma once
// Rows of attention's online softmax, in units of log 2. Kernel-private: included only by
// files compiled per instruction set.

#include <cmath>
#include <limits>

#include "titan/ops/cpu/attention_tiles.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// 2^x, as exact as the tile that takes it needs.
template <class Tile>
F16 exp2_for(F16 x) {
  return sizeof(Tile) == sizeof(float) ? exp2(x) : exp2_for_bf16(x);
}

// tanh with a relative error of a few units in the last place: x + x^3 P(x^2) near 0
// (coefficients: Moshier, Cephes, tanhf), 1 - 2 / (e^2|x| + 1) elsewhere.
inline F16 tanh(F16 x) {
  const F16 square = x * x;
  F16 p = splat(-5.70498872745e-3F);
  p = fma(p, square, splat(2.06390887954e-2F));
  p = fma(p, square, splat(-5.37397155531e-2F));
  p = fma(p, square, splat(1.33314422036e-1F));
  p = fma(p, square, splat(-3.33332819422e-1F));
  const F16 near = fma(x * square, p, x);
  const F16 size = max(x, splat(0) - x);
  const F16 far = splat(1) - splat(2) / (exp(size + size) + splat(1));
  const F16 signed_far = where_less_equal(splat(0), x, far, splat(0) - far);
  return where_less_equal(size, splat(0.625F), near, signed_far);
}

// How a product q k^T becomes a score to base 2.
struct ScoreScale {
  explicit ScoreScale(const AttentionRule& rule)
      : factor(static_cast<float>(rule.scale) * kLog2E),
        capped(rule.soft_cap > 0),
        cap(static_cast<float>(rule.soft_cap) * kLog2E),
        inner(capped ? static_cast<float>(rule.scale / rule.soft_cap) : 0) {}

  // Replaces products by capped scores, which then need no factor.
  void cap_scores(float* scores, int64_t count) const {
    for (int64_t c = 0; c < count; c += kLanes) {
      const F16 bent = tanh(load(scores + c) * splat(inner));
      store(scores + c, bent * splat(cap));
    }
  }

  float factor;
  bool capped;
  float cap;
  float inner;
};

// Columns of a row of scores: there are products for [skip, count), multiples of 32, and
// the row sees the keys [begin, end) of them.
struct ScoreColumns {
  int64_t skip, begin, end, count;
};

// The online softmax of one row: what has been summed so far.
struct SoftmaxState {
  float max = kMinusInfinity;
  float sum = 0;
};

inline constexpr int64_t kPair = 2 * kLanes;

// A pair of vectors of a row whose columns outside [begin, end) become `other`.
struct PairMask {
  PairMask(int64_t column, int64_t begin, int64_t end)
      : first(static_cast<int>(larger(0, begin - column))),
        last(static_cast<int>(smaller(kPair, end - column))) {}

  static int within(int n) { return n < 0 ? 0 : n < kLanes ? n : kLanes; }

  void apply(F16& a, F16& b, F16 other) const {
    a = keep_first(other, within(first), keep_first(a, within(last), other));
    b = keep_first(
        other, within(first - kLanes), keep_first(b, within(last - kLanes), other));
  }

  int first, last;
};

// Calls each(column, mask) for the pairs that hold columns of [begin, end): mask is null
// for whole ones.
template <class Each>
inline void for_pairs(int64_t begin, int64_t end, const Each& each) {
  int64_t c = round_down(begin, kPair);
  while (c < end) {
    if (c >= begin && c + kPair <= end) {
      each(c, nullptr);
    } else {
      const PairMask mask(c, begin, end);
      each(c, &mask);
    }
    c += kPair;
  }
}

// Weights 2^(score - maximum) of the columns that the row sees go to p, zero to the rest
// of [skip, count). Returns the factor for what was summed under the former maximum. Sums
// run in lanes fixed by the column, whatever is masked.
template <class Tile>
float softmax_row(
    float* scores,
    Tile* p,
    const ScoreColumns& columns,
    const ScoreScale& scale,
    SoftmaxState& state) {
  const auto& [skip, begin, end, count] = columns;
  const int64_t from = begin < end ? round_down(begin, kPair) : count;
  const int64_t to = begin < end ? round_up(end, kPair) : count;
  for (int64_t c = skip; c < from; c += kPair) {
    store_two(p + c, splat(0), splat(0));
  }
  for (int64_t c = to; c < count; c += kPair) {
    store_two(p + c, splat(0), splat(0));
  }
  if (begin >= end) {
    return 1;
  }
  if (scale.capped) {
    scale.cap_scores(scores + from, to - from);
  }
  F16 max_a = splat(kMinusInfinity);
  F16 max_b = max_a;
  for_pairs(begin, end, [&](int64_t c, const PairMask* mask) {
    F16 a = load(scores + c);
    F16 b = load(scores + c + kLanes);
    if (mask != nullptr) {
      mask->apply(a, b, splat(kMinusInfinity));
    }
    max_a = max(max_a, a);
    max_b = max(max_b, b);
  });
  const float to_base_2 = scale.capped ? 1 : scale.factor;
  const float tile_max = reduce_max(max(max_a, max_b)) * to_base_2;
  const float old_max = state.max;
  const float new_max = tile_max > old_max ? tile_max : old_max;
  const F16 factor = splat(to_base_2);
  const F16 offset = splat(-new_max);
  F16 sum_a = splat(0);
  F16 sum_b = splat(0);
  for_pairs(begin, end, [&](int64_t c, const PairMask* mask) {
    F16 a = exp2_for<Tile>(fma(load(scores + c), factor, offset));
    F16 b = exp2_for<Tile>(fma(load(scores + c + kLanes), factor, offset));
    if (mask != nullptr) {
      mask->apply(a, b, splat(0));
    }
    sum_a = sum_a + a;
    sum_b = sum_b + b;
    store_two(p + c, a, b);
  });
  const float alpha = new_max == old_max ? 1.0F : std::exp2(old_max - new_max);
  state.max = new_max;
  state.sum = state.sum * alpha + reduce_add(sum_a + sum_b);
  return alpha;
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
