#pragma once
// The choice of experts. Row-invariant: a token's experts and weights depend on its
// logits alone.

#include <ATen/core/Tensor.h>

#include "titan/ops/router_args.h"

namespace titan::ops {

using at::Tensor;

struct Routing {
  Tensor experts;  // int64 [T, k], the best first
  Tensor weights;  // fp32 [T, k]
};

// Scores logits [T, E] (fp32 or bf16, contiguous) in fp32 and chooses each token's k best
// experts by score + bias; of equal ones the lower index, and NaN before all numbers.
// bias: fp32 [E], or undefined for none; it is no part of the weights, which are
//   w_j = scale s_j [/ (sum of the chosen s + epsilon)].
// The weights are differentiable in the logits; the choice has no gradient.
Routing route(const Tensor& logits, const Tensor& bias, const RouterArgs& args);

// The weights, fp32 [T, k], of experts that were chosen elsewhere (by a table over token
// ids, or by an earlier forward pass): int64 [T, k] contiguous. Differentiable likewise.
Tensor route_to(const Tensor& logits, const Tensor& experts, const RouterArgs& args);

// Oracles from library calls, without an order among equal scores. Differentiable.
Routing route_plain(const Tensor& logits, const Tensor& bias, const RouterArgs& args);
Tensor route_to_plain(
    const Tensor& logits, const Tensor& experts, const RouterArgs& args);

}  // namespace titan::ops
