#pragma once
// Gated linear units (Shazeer 2020): an activation of one half times the other,
// elementwise in fp32, each a region (titan/ops/regions.h).

#include "titan/ops/context.h"

namespace titan::ops {

// gate, up [T, F] fp32 or bf16, contiguous and alike; the result is too. Differentiable.
// REQUIRES: context outlives the backward pass.

// silu(gate) up.
Tensor swiglu(const Tensor& gate, const Tensor& up, OpContext& context);

// gelu(gate) up, in the tanh form.
Tensor geglu(const Tensor& gate, const Tensor& up, OpContext& context);

// g sigmoid(alpha g) (u + 1) with g = min(gate, limit) and u = up cut to +-limit
// (gpt-oss).
Tensor clipped_swiglu(
    const Tensor& gate, const Tensor& up, double alpha, double limit, OpContext& context);

}  // namespace titan::ops
