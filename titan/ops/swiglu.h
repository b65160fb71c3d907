#pragma once

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// silu(gate) * up (Shazeer 2020), elementwise in fp32. gate, up [T, F] fp32 or bf16
// contiguous. Differentiable.
Tensor swiglu(const Tensor& gate, const Tensor& up);

// Oracle from library calls. Differentiable.
Tensor swiglu_plain(const Tensor& gate, const Tensor& up);

}  // namespace titan::ops
