#pragma once
// Rows of a mixture of experts: each of T tokens has k slots, one for each expert that it
// chose. Experts work on their rows together, so slots are brought into the order of the
// experts and their results back. All sums over a token's slots run in the order of the
// slots: deterministic, and a token's result depends on its own rows alone.

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// Slots sorted by expert; the slots of one expert stay in the order of the tokens.
struct ExpertOrder {
  Tensor offsets;  // int64 [E + 1]: expert e has rows [offsets[e], offsets[e + 1])
  Tensor rows;     // int64 [T, k]: the row of each slot
  Tensor slots;    // int64 [T k]: the slot t k + j of each row

  // Slots of each expert: int64 [E].
  [[nodiscard]] Tensor counts() const;
};

// The order for `experts`, int64 [T, k] contiguous with values in [0, num_experts).
ExpertOrder expert_order(const Tensor& experts, int64_t num_experts);

// x [T, D] fp32 or bf16 contiguous -> [T k, D]: each token's row once for each of its
// slots, in the order of the experts. Differentiable.
Tensor to_expert_order(const Tensor& x, const ExpertOrder& order);

// The adjoint: y [T k, D] -> [T, D], the sum of each token's rows. Differentiable.
Tensor to_token_order(const Tensor& y, const ExpertOrder& order);

// [T, D]: the sum of each token's rows of y [T k, D] times weights, fp32 [T, k]; formed
// in fp32 and rounded to y's dtype once. Differentiable in y and the weights.
Tensor combine_experts(const Tensor& y, const Tensor& weights, const ExpertOrder& order);

// Oracles from library calls; differentiable where the ops are.
ExpertOrder expert_order_plain(const Tensor& experts, int64_t num_experts);
Tensor to_expert_order_plain(const Tensor& x, const ExpertOrder& order);
Tensor to_token_order_plain(const Tensor& y, const ExpertOrder& order);
Tensor combine_experts_plain(
    const Tensor& y, const Tensor& weights, const ExpertOrder& order);

}  // namespace titan::ops
