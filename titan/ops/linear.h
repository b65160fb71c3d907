#pragma once
// The linear map, row-invariant: row t of the result depends on row t of x alone, bit for
// bit, whatever the number of rows and threads (design decision 2).

#include <string_view>

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// y = x W^T. x [T, K] fp32 or bf16 contiguous, weight [N, K]; returns [T, N] in x's
// dtype, with products accumulated in fp32. K is walked in one fixed order.
// Differentiable in x and the weight; the weight gradient is added to the weight's source
// (fp32), or deferred through context.defer. `name` is the region's name for named
// rematerialisation. REQUIRES: context outlives the backward pass.
Tensor linear(
    const Tensor& x, const Weight& weight, OpContext& context, std::string_view name);

// The same from library calls on plain tensors; the oracle of tests. Differentiable.
Tensor linear_plain(const Tensor& x, const Tensor& weight);

}  // namespace titan::ops
