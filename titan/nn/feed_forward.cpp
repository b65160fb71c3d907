#include "titan/nn/feed_forward.h"

#include "titan/ops/glu.h"

namespace titan::nn {

GatedFeedForward::GatedFeedForward(
    const Scope& scope, const FeedForwardConfig& c, Activation activation)
    : gate_(
          scope.child("gate"),
          {.in = c.dim, .out = c.hidden, .init = c.init},
          "ffn.gate"),
      up_(scope.child("up"), {.in = c.dim, .out = c.hidden, .init = c.init}, "ffn.up"),
      down_(
          scope.child("down"),
          {.in = c.hidden, .out = c.dim, .init = c.output_init},
          "ffn.down"),
      activation_(activation) {}

Tensor GatedFeedForward::forward(const Tensor& x, BlockContext& context) {
  const Tensor gate = gate_.forward(x, context);
  const Tensor up = up_.forward(x, context);
  return down_.forward(activation_(gate, up, context.ops), context);
}

std::unique_ptr<FeedForward> make_swiglu_feed_forward(
    const Scope& scope, const FeedForwardConfig& config) {
  return std::make_unique<GatedFeedForward>(scope, config, &ops::swiglu);
}

}  // namespace titan::nn
