#pragma once
// A pass of a region as the kernels' arguments.

#include <vector>

#include "titan/ops/region.h"
#include "titan/ops/region/kernels.h"

namespace titan::ops {

// Without row_means. `scalars` is filled and must outlive the result.
[[nodiscard]] cpu::RegionArgs region_args(
    const RegionPass& pass, std::vector<float>& scalars);

// The dtype of the pass's rows: bf16, else fp32.
[[nodiscard]] bool has_bf16_rows(const RegionPass& pass);

}  // namespace titan::ops
