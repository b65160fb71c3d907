#pragma once

#include <string_view>

#include "titan/nn/block.h"
#include "titan/nn/scope.h"
#include "titan/ops/linear.h"

namespace titan::nn {

// y = x W^T with W [out, in]; no bias.
class Linear {
 public:
  struct Config {
    int64_t in = 0;
    int64_t out = 0;
    Init init;
  };

  // `region` names the product for rematerialisation, e.g. "attention.wq".
  Linear(const Scope& scope, const Config& config, std::string region)
      : weight_(scope.parameter("weight", {config.out, config.in}, config.init)),
        region_(std::move(region)) {}

  // x [T, in] -> [T, out].
  [[nodiscard]] Tensor forward(const Tensor& x, BlockContext& context) const {
    return ops::linear(x, weight_, context.ops, region_);
  }

 private:
  ops::Weight weight_;
  std::string region_;
};

}  // namespace titan::nn
