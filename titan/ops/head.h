#pragma once
// The language-model head: log-probabilities of given targets without ever holding the
// logits of all tokens, and logits for sampling. Both compute a row's logits and its
// log-sum-exp with the same operations in the same order, so the generator's and the
// trainer's log-probabilities have the same bits.

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Marks a position without a target.
inline constexpr int64_t kIgnoreIndex = -100;

// log softmax(x W^T)[t, targets[t]]. x [T, D] fp32 or bf16, weight [V, D], targets int64
// [T] with kIgnoreIndex where there is none; returns fp32 [T], 0 at ignored positions.
// Differentiable in x and the weight. Forward keeps x and the log-sum-exp only; backward
// recomputes the logits a slice of the vocabulary at a time, for all rows (scratch for T
// = 2048: 32 MiB of logit gradients), so the weight gradient is formed whole in one
// order. REQUIRES: targets within [0, V) or kIgnoreIndex; context outlives the backward
// pass.
Tensor target_logprobs(
    const Tensor& x, const Weight& weight, const Tensor& targets, OpContext& context);

// x W^T in fp32 [T, V]; not differentiable. For sampling and scoring.
Tensor logits(const Tensor& x, const Weight& weight);

// log sum exp of each row, fp32 [T], of fp32 logits [T, V]: logits[t, y] - result[t] has
// the bits of target_logprobs for the target y.
Tensor log_sum_exp(const Tensor& logits);

// Oracle of target_logprobs from library calls. Differentiable.
Tensor target_logprobs_plain(
    const Tensor& x, const Tensor& weight, const Tensor& targets);

}  // namespace titan::ops
