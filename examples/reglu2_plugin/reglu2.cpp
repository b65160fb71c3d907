// An example plug-in: replaces the feed-forward layer of chosen decoder layers by one
// with a squared ReLU gate (Primer, So et al. 2021), a region of its own.
//
//   titan train llama3_debug --plugin reglu2_plugin.so
//   'overrides=["layers.0.ffn=reglu2"]'
//
// The parameters keep the standard names, so checkpoints and exports work unchanged.

#include <memory>

#include "examples/reglu2_plugin/reglu2_region.h"

#include "titan/config/plugin.h"
#include "titan/nn/feed_forward.h"
#include "titan/nn/override.h"
#include "titan/ops/region/describe.h"

TITAN_PLUGIN;

namespace {

using at::Tensor;

Tensor reglu2_of(const Tensor& gate, const Tensor& up, titan::ops::OpContext& context) {
  static const titan::ops::Region kRegion = titan::ops::describe_region<reglu2::Reglu2>();
  const auto call = titan::ops::RegionCall::over_rows(kRegion, gate);
  return titan::ops::run_region(call, {gate, up}, {}, context).at(0);
}

const titan::nn::RegisterOverride<titan::nn::FeedForward> kReglu2(
    "reglu2",
    "feed-forward layer with a squared ReLU gate",
    [](const titan::nn::Scope& scope, const titan::nn::FeedForwardConfig& config) {
      return std::make_unique<titan::nn::GatedFeedForward>(scope, config, &reglu2_of);
    });

}  // namespace
