#pragma once

#include "titan/nn/block.h"
#include "titan/nn/scope.h"
#include "titan/ops/norm.h"

namespace titan::nn {

// Root mean square norm over the last dimension, weight [dim] starting at one.
class RmsNorm {
 public:
  RmsNorm(const Scope& scope, int64_t dim, double eps)
      : weight_(scope.parameter("weight", {dim}, Init::ones())), eps_(eps) {}

  [[nodiscard]] Tensor forward(const Tensor& x, BlockContext& context) const {
    return ops::rms_norm(x, weight_, eps_, context.ops);
  }

 private:
  ops::Weight weight_;
  double eps_;
};

}  // namespace titan::nn
