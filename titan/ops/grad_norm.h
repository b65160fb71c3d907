#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// The sum of squares of each tensor (fp32, contiguous), in one pass over all of them:
// squares and sums in double, in blocks of a fixed length added in order. So it does not
// depend on the number of threads, nor on the other tensors. NaN and infinities come
// through.
std::vector<double> sums_of_squares(std::span<const Tensor> tensors);

}  // namespace titan::ops
