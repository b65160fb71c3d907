#pragma once
// Shapes, inputs and runs that attention's tests share.

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/attention.h"
#include "titan/ops/test_tensors.h"

namespace titan::ops {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct AttentionShape {
  std::vector<int64_t> lengths;
  int64_t heads, kv_heads;
  int64_t key_dim, value_dim;

  [[nodiscard]] int64_t tokens() const {
    return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  }

  [[nodiscard]] double scale() const {
    return 1 / std::sqrt(static_cast<double>(key_dim));
  }

  [[nodiscard]] AttentionRule rule() const { return {.scale = scale()}; }
};

inline const std::vector<int64_t> kMixedLengths = {1, 5, 64, 65, 300, 700};

// Results in the order output, query, key and value gradient.
using Results = std::vector<Tensor>;
inline constexpr const char* kNames[] = {"out", "dq", "dk", "dv"};

template <class Attention>
Results differentiate(const AttentionInputs& in, const Tensor& grad, const Attention& f) {
  const auto leaf = [](const Tensor& x) { return x.detach().set_requires_grad(true); };
  const AttentionInputs leaves{leaf(in.query), leaf(in.key), leaf(in.value)};
  const Tensor out = f(leaves);
  const auto grads =
      torch::autograd::grad({out}, {leaves.query, leaves.key, leaves.value}, {grad});
  return {out.detach(), grads[0], grads[1], grads[2]};
}

inline Results differentiate(
    const AttentionInputs& in,
    const Tensor& grad,
    const SequenceContext& sequence,
    const AttentionRule& rule) {
  OpContext context;
  return differentiate(in, grad, [&](const AttentionInputs& x) {
    return attention(x, sequence, rule, context, "core");
  });
}

inline Tensor forward(
    const AttentionInputs& in,
    const SequenceContext& sequence,
    const AttentionRule& rule) {
  OpContext context;
  return attention(in, sequence, rule, context, "core");
}

// What a call throws, in one line; empty where it does not.
inline std::string refusal(
    const AttentionInputs& in,
    const SequenceContext& sequence,
    const AttentionRule& rule) {
  try {
    forward(in, sequence, rule);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

class AttentionCase : public testing::TestWithParam<at::ScalarType> {
 protected:
  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 1);
  }

  static AttentionInputs inputs(const AttentionShape& s) {
    return {
        random({s.tokens(), s.heads, s.key_dim}),
        random({s.tokens(), s.kv_heads, s.key_dim}),
        random({s.tokens(), s.kv_heads, s.value_dim})};
  }

  static Tensor output_gradient(const AttentionShape& s) {
    return random({s.tokens(), s.heads, s.value_dim});
  }
};

}  // namespace titan::ops
