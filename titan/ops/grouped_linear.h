#pragma once
// The linear map of a mixture of experts: groups of rows, each with its expert's matrix.
// Row-invariant: a row of the result depends on that row and its expert's matrix alone,
// bit for bit, and has the bits of linear() with it. How many rows any expert has does
// not matter.

#include <string_view>

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// y = x W_e^T for the rows [offsets[e], offsets[e + 1]) of each expert e. x [R, K] fp32
// or bf16 contiguous; offsets int64 [E + 1], ascending from 0 to R (ExpertOrder in
// moe.h); weight [E, N, K]; returns [R, N] in x's dtype, with products accumulated in
// fp32. Differentiable in x and the weight. The weight gradient goes to the weight's
// source in fp32, or is deferred through context.defer; it is zero for an expert without
// rows. `name` is the region's name for named rematerialisation. REQUIRES: context
// outlives the backward pass.
Tensor grouped_linear(
    const Tensor& x,
    const Tensor& offsets,
    const Weight& weight,
    OpContext& context,
    std::string_view name);

// y[r] + bias[expert of row r]: y [R, N] contiguous, bias [E, N]. Differentiable in both;
// the bias gradient is summed in the order of the rows.
Tensor grouped_bias(
    const Tensor& y, const Tensor& offsets, const Weight& bias, OpContext& context);

// The same from library calls on plain tensors; the oracles of tests. Differentiable.
Tensor grouped_linear_plain(const Tensor& x, const Tensor& offsets, const Tensor& weight);
Tensor grouped_bias_plain(const Tensor& y, const Tensor& offsets, const Tensor& bias);

}  // namespace titan::ops
