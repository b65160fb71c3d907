#pragma once
// The fused implementation of regions: kernels made from the chain.

#include "titan/ops/region.h"

namespace titan::ops {

void fused_forward(const RegionPass& pass);
void fused_backward(const RegionPass& pass);

}  // namespace titan::ops
