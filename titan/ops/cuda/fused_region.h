#pragma once
// The fused implementation of regions on a CUDA device.

#include "titan/ops/region.h"

namespace titan::ops::cuda {

void fused_forward(const RegionPass& pass);
void fused_backward(const RegionPass& pass);

}  // namespace titan::ops::cuda
