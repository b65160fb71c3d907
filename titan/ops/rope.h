#pragma once

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// Rotary position embedding (Su et al. 2021), half-split form: the pairs (i, i + D/2) of
// each head are turned by the angle whose cosine and sine stand in row t. x [T, H, D]
// fp32 or bf16 contiguous; cosine, sine fp32 [T, D/2]; returns x's shape and dtype.
// Differentiable in x.
Tensor rope(const Tensor& x, const Tensor& cosine, const Tensor& sine);

// Oracle from library calls. Differentiable.
Tensor rope_plain(const Tensor& x, const Tensor& cosine, const Tensor& sine);

}  // namespace titan::ops
