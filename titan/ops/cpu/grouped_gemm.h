#pragma once
// Matrix products of ragged groups of rows, each group with its own matrix. A row has the
// bits of gemm() with that matrix, whatever the sizes of the groups.

#include <ATen/core/Tensor.h>

#include "titan/ops/cpu/grouped_parts.h"
#include "titan/ops/weight.h"

namespace titan::ops::cpu {

using at::Tensor;

// x [R, K], rows in the order of the groups, times their packed matrices [E, ...]
// (pack_weight of a stack) with `columns` columns: [R, columns] of x's dtype. On
// at::get_num_threads() threads.
Tensor grouped_gemm(
    const Tensor& x, GroupOffsets offsets, const Tensor& packed, int64_t columns);

// grad [E, N, K] of group g = dy_g^T x_g for dy [R, N] and x [R, K], contiguous and of
// one dtype; zero for a group without rows. Stored or added as WeightSource::GradView
// asks. On at::get_num_threads() threads.
void grouped_weight_grad(
    const Tensor& dy,
    const Tensor& x,
    GroupOffsets offsets,
    const WeightSource::GradView& grad);

}  // namespace titan::ops::cpu
