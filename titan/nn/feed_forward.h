#pragma once

#include <memory>

#include "titan/nn/block.h"
#include "titan/nn/linear.h"

namespace titan::nn {

struct FeedForwardConfig {
  int64_t dim = 0;
  int64_t hidden = 0;
  Init init;
  Init output_init;
};

// The channel mixer of a decoder layer. Implementations for published models keep the
// parameter names gate.weight, up.weight [hidden, dim] and down.weight [dim, hidden].
class FeedForward {
 public:
  using Config = FeedForwardConfig;
  static constexpr std::string_view kKind = "feed_forward";
  virtual ~FeedForward() = default;
  // x [T, dim] -> [T, dim].
  virtual Tensor forward(const Tensor& x, BlockContext& context) = 0;
};

// down(activation(gate x, up x)).
class GatedFeedForward final : public FeedForward {
 public:
  // Of gate and up [T, hidden] alike; see titan/ops/glu.h.
  using Activation =
      Tensor (*)(const Tensor& gate, const Tensor& up, ops::OpContext& context);

  GatedFeedForward(
      const Scope& scope, const FeedForwardConfig& config, Activation activation);

  Tensor forward(const Tensor& x, BlockContext& context) override;

 private:
  Linear gate_, up_, down_;
  Activation activation_;
};

// With silu(gate x) * up x.
[[nodiscard]] std::unique_ptr<FeedForward> make_swiglu_feed_forward(
    const Scope& scope, const FeedForwardConfig& config);

}  // namespace titan::nn
