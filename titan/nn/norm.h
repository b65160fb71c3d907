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

  // residual + update and the norm of that sum.
  [[nodiscard]] std::pair<Tensor, Tensor> add(
      const Tensor& residual, const Tensor& update, BlockContext& context) const {
    return ops::add_rms_norm(residual, update, weight_, eps_, context.ops);
  }

  // The norm of each head of x [T, H, dim], turned by the step's rotary embedding.
  [[nodiscard]] Tensor rotated(const Tensor& x, BlockContext& context) const {
    const Rotary& rotary = context.step.rotary;
    return ops::qk_norm_rope(x, weight_, eps_, {rotary.cosine, rotary.sine}, context.ops);
  }

 private:
  ops::Weight weight_;
  double eps_;
};

}  // namespace titan::nn
