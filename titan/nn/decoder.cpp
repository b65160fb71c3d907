#include "titan/nn/decoder.h"

#include <ATen/ATen.h>

#include "titan/ops/embedding.h"
#include "titan/ops/head.h"

namespace titan::nn {
namespace {

ops::Weight head_weight(
    const Scope& scope, const HeadBlock::Config& config, const ops::Weight* tied) {
  if (tied == nullptr) {
    return scope.parameter("weight", {config.vocab, config.dim}, config.init);
  }
  scope.share(*tied);
  return *tied;
}

}  // namespace

Tensor EmbeddingBlock::forward(const Tensor& tokens, BlockContext& context) {
  return ops::embedding(tokens, weight_, context.ops);
}

DecoderBlock::DecoderBlock(const Scope& scope, const Config& config)
    : attention_norm_(
          scope.child("attention_norm"), config.attention.dim, config.norm_eps),
      attention_(scope.make<Attention>(
          "attention", config.attention, make_grouped_query_attention)),
      feed_forward_norm_(scope.child("ffn_norm"), config.attention.dim, config.norm_eps),
      feed_forward_(scope.make<FeedForward>(
          "ffn", config.feed_forward, make_swiglu_feed_forward)) {}

Tensor DecoderBlock::forward(const Tensor& x, BlockContext& context) {
  const Tensor attended =
      attention_->forward(attention_norm_.forward(x, context), context);
  const auto [mixed, normed] = feed_forward_norm_.add(x, attended, context);
  return mixed + feed_forward_->forward(normed, context);
}

HeadBlock::HeadBlock(const Scope& scope, const Config& config, const ops::Weight* tied)
    : norm_(scope.child("norm"), config.dim, config.norm_eps),
      weight_(head_weight(scope, config, tied)) {}

Tensor HeadBlock::forward(const Tensor& x, BlockContext& context) {
  return ops::target_logprobs(
      norm_.forward(x, context), weight_, context.step.targets, context.ops);
}

Tensor HeadBlock::logits(const Tensor& x, BlockContext& context) const {
  return ops::logits(norm_.forward(x, context), weight_);
}

}  // namespace titan::nn
