#pragma once
// Any differentiable function of library calls as an op under the contract of Weight and
// OpContext: it holds no weight's storage, runs again from its saved inputs in backward,
// hands weight gradients to their source or defers them, and can be given its results in
// a replay. The plain form of every op on devices without kernels of ours, and the way
// for overrides that are written with the library alone.

#include <functional>
#include <string_view>
#include <vector>

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Results from inputs and weight values; called again in backward, so it must give the
// same results for the same arguments.
using LibraryFunction = std::function<std::vector<Tensor>(
    const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights)>;

// f(inputs, values of the weights). Differentiable in floating-point inputs and weights,
// through floating-point results. REQUIRES: context outlives the backward pass.
std::vector<Tensor> library_op(
    LibraryFunction f,
    const std::vector<Tensor>& inputs,
    const std::vector<Weight>& weights,
    OpContext& context,
    std::string_view name);

}  // namespace titan::ops
