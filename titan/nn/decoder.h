#pragma once
// The blocks of a pre-norm decoder.

#include <memory>

#include "titan/nn/attention.h"
#include "titan/nn/feed_forward.h"

namespace titan::nn {

// Tokens int64 [T] -> [T, dim].
class EmbeddingBlock final : public Block {
 public:
  EmbeddingBlock(const Scope& scope, int64_t vocab, int64_t dim, Init init)
      : weight_(scope.parameter("weight", {vocab, dim}, init)) {}

  Tensor forward(const Tensor& tokens, BlockContext& context) override;

  [[nodiscard]] const ops::Weight& weight() const { return weight_; }

 private:
  ops::Weight weight_;  // [vocab, dim]
};

// x += attention(norm(x)); x += ffn(norm(x)).
class DecoderBlock final : public Block {
 public:
  struct Config {
    AttentionConfig attention;
    FeedForwardConfig feed_forward;
    double norm_eps = 1e-5;
  };

  DecoderBlock(const Scope& scope, const Config& config);

  Tensor forward(const Tensor& x, BlockContext& context) override;

 private:
  RmsNorm attention_norm_;
  std::unique_ptr<Attention> attention_;
  RmsNorm feed_forward_norm_;
  std::unique_ptr<FeedForward> feed_forward_;
};

// Final norm and language-model head.
class HeadBlock final : public Block {
 public:
  struct Config {
    int64_t dim = 0;
    int64_t vocab = 0;
    double norm_eps = 1e-5;
    Init init;
  };

  // With `tied`, the head's weight is that parameter of an earlier block.
  HeadBlock(const Scope& scope, const Config& config, const ops::Weight* tied);

  // Log-probabilities of the step's targets, fp32 [T].
  Tensor forward(const Tensor& x, BlockContext& context) override;
  // fp32 [T, vocab]; not differentiable.
  [[nodiscard]] Tensor logits(const Tensor& x, BlockContext& context) const;

 private:
  RmsNorm norm_;
  ops::Weight weight_;
};

}  // namespace titan::nn
