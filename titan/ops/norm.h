#pragma once

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Root mean square norm (Zhang and Sennrich 2019) over the last dimension:
// w * cast(x / sqrt(mean(x^2) + eps)), reduced in fp32 in one fixed order. x [..., D]
// fp32 or bf16 contiguous, weight [D]; returns x's shape and dtype. Differentiable in x
// and the weight. REQUIRES: context outlives the backward pass.
Tensor rms_norm(const Tensor& x, const Weight& weight, double eps, OpContext& context);

// Oracle from library calls. Differentiable.
Tensor rms_norm_plain(const Tensor& x, const Tensor& weight, double eps);

}  // namespace titan::ops
