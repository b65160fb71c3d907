#pragma once

#include <utility>

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Root mean square norm (Zhang and Sennrich 2019) over the last dimension:
// w * cast(x / sqrt(mean(x^2) + eps)), reduced in fp32 in one fixed order. x [..., D]
// fp32 or bf16 contiguous, weight [D]; returns x's shape and dtype. Differentiable in x
// and the weight. REQUIRES: context outlives the backward pass.
Tensor rms_norm(const Tensor& x, const Weight& weight, double eps, OpContext& context);

// residual + update, and the norm of that sum, in one pass. Both [..., D] alike.
std::pair<Tensor, Tensor> add_rms_norm(
    const Tensor& residual,
    const Tensor& update,
    const Weight& weight,
    double eps,
    OpContext& context);

// RMS norm of each head, then rotary embedding, in one pass. x [T, H, D], weight [D],
// cosine and sine fp32 [T, D/2] as for rope().
Tensor qk_norm_rope(
    const Tensor& x,
    const Weight& weight,
    double eps,
    const std::pair<Tensor, Tensor>& cosine_and_sine,
    OpContext& context);

// Oracle from library calls. Differentiable.
Tensor rms_norm_plain(const Tensor& x, const Tensor& weight, double eps);

}  // namespace titan::ops
