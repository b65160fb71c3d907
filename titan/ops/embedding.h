#pragma once

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Rows of the table: tokens int64 [T], weight [V, D]; returns [T, D] in the compute
// dtype. Differentiable in the weight; repeated tokens add in ascending t. REQUIRES: 0 <=
// tokens < V; context outlives the backward pass.
Tensor embedding(const Tensor& tokens, const Weight& weight, OpContext& context);

// Oracle from library calls. Differentiable.
Tensor embedding_plain(const Tensor& tokens, const Tensor& weight);

}  // namespace titan::ops
