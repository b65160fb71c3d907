#include "titan/nn/feed_forward.h"

#include "titan/ops/swiglu.h"

namespace titan::nn {
namespace {

class SwigluFeedForward final : public FeedForward {
 public:
  SwigluFeedForward(const Scope& scope, const FeedForwardConfig& c)
      : gate_(
            scope.child("gate"),
            {.in = c.dim, .out = c.hidden, .init = c.init},
            "ffn.gate"),
        up_(scope.child("up"), {.in = c.dim, .out = c.hidden, .init = c.init}, "ffn.up"),
        down_(
            scope.child("down"),
            {.in = c.hidden, .out = c.dim, .init = c.output_init},
            "ffn.down") {}

  Tensor forward(const Tensor& x, BlockContext& context) override {
    return down_.forward(
        ops::swiglu(gate_.forward(x, context), up_.forward(x, context)), context);
  }

 private:
  Linear gate_, up_, down_;
};

}  // namespace

std::unique_ptr<FeedForward> make_swiglu_feed_forward(
    const Scope& scope, const FeedForwardConfig& config) {
  return std::make_unique<SwigluFeedForward>(scope, config);
}

}  // namespace titan::nn
