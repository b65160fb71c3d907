#pragma once
// How a router turns logits into experts and weights. Plain data: kernels read it too.

#include <cstdint>

namespace titan::ops {

// What a logit's score is.
enum class RouterScore {
  kSoftmax,          // softmax over all experts (Qwen3)
  kSoftmaxOfChosen,  // the logit; weights are a softmax over the chosen ones (gpt-oss)
  kSigmoid,          // DeepSeek-V3, Kimi
  kSqrtSoftplus,     // sqrt(log(1 + exp(logit))) (DeepSeek-V4)
};

struct RouterArgs {
  RouterScore score = RouterScore::kSoftmax;
  int64_t top_k = 1;
  // Group-limited choice (DeepSeek-V3): the experts are `num_groups` equal groups, and
  // only those of the `kept_groups` groups with the largest sums of their two best may be
  // chosen.
  int64_t num_groups = 1;
  int64_t kept_groups = 1;
  // Weights are divided by their sum plus `epsilon`. Not with kSoftmaxOfChosen.
  bool renormalize = false;
  float epsilon = 1e-20F;
  float scale = 1;  // of the weights, last
};

}  // namespace titan::ops
