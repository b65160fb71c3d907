#pragma once
// The plain implementation of regions: the chain by library calls, run again with a graph
// for the gradients.

#include "titan/ops/region.h"

namespace titan::ops {

void plain_forward(const RegionPass& pass);
void plain_backward(const RegionPass& pass);

}  // namespace titan::ops
